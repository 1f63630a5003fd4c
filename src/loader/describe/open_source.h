#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/data_warnings.h"
#include "base/source.h"
#include "format/files/open_store.h"
#include "pipeline/description.h"

namespace forebay {

/// Options for opening a source.
struct OpenSourceOptions {
  std::map<std::string, std::string> storage_options;
  std::stop_token stop;
  bool keep_versions = false;           ///< keep versions of objects, for Source::identity()
  std::optional<int> requests = {};     ///< limit of requests to a remote store, listings included
  std::optional<uint64_t> memory = {};  ///< memory limit of the loader, if set
  DataWarnings* warnings = nullptr;     ///< collects warnings about data left out; may be null
};

/// Opens the store of `url` with the options that apply to it. Warnings go to `options.warnings`.
Result<StoreAndPath> open_store_for(const std::string& url, const OpenSourceOptions& options);

/// Opens the source that step 0 of a description names: reads its listing or manifest, or maps its
/// arrays. If the step carries an open source, returns that.
Result<std::shared_ptr<const Source>> open_source(const OpSpec& source, const OpenSourceOptions& options);

/// Marks the source's store as being read while the result lives; see Store::begin_reading().
/// Further stores that a manifest names are marked when they are first read.
std::shared_ptr<void> begin_reading(const Source& source);

/// Returns the class names of `images`, or those on which all parts agree. InvalidArgument for other
/// sources.
Result<std::vector<std::string>> class_names(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
