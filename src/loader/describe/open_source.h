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

struct OpenSourceOptions {
  std::map<std::string, std::string> storage_options;
  std::stop_token stop;
  bool keep_versions = false;           ///< of objects, for Source::identity()
  std::optional<int> requests = {};     ///< of a remote store at a time, listings and indexes included
  std::optional<uint64_t> memory = {};  ///< of the loader, where it was given
  DataWarnings* warnings = nullptr;     ///< collects what is left out; null: nobody asks
};

/// The store of `url`, with the options that concern it. What its opening leaves out goes to `options.warnings`.
Result<StoreAndPath> place_of(const std::string& url, const OpenSourceOptions& options);

/// Opens what step 0 of a description names: reads the listing or the manifest, maps the arrays. What it carries opened is given as
/// it is.
Result<std::shared_ptr<const Source>> open_source(const OpSpec& source, const OpenSourceOptions& options);

/// Its store is read from here on, for as long as that lives: see Store::begin_reading(). (A manifest may name several; those of other
/// rows are noted when they are first read.)
std::shared_ptr<void> begin_reading(const Source& source);

/// The class names of `images`; InvalidArgument for other sources.
Result<std::vector<std::string>> class_names(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
