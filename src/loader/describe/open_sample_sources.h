#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/source.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"

namespace forebay {

/// These functions open the sources whose samples are read one by one. The table of sources
/// (sources.h) calls them with arguments that check() has accepted. The errors are those of the
/// formats.
Result<std::shared_ptr<const Source>> open_images(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_files_step(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_manifest_step(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_array_fields(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_dataset(const OpSpec& source, const OpenSourceOptions& options);

/// Returns the names of the class folders of `images`.
Result<std::vector<std::string>> class_folders(const OpSpec& source, const OpenSourceOptions& options);
/// Returns the class names of an opened source by label. Empty if its samples have no classes, or
/// its parts have different ones.
std::vector<std::string> classes_of(const Source& source);

}  // namespace forebay
