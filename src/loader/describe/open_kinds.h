#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/source.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"

namespace forebay {

/// How each source that is no table is opened, with arguments that check() found nothing wrong with. Errors are those of the formats.
Result<std::shared_ptr<const Source>> open_images(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_files_step(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_manifest_step(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_array_fields(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_dataset(const OpSpec& source, const OpenSourceOptions& options);

/// The names of the folders that are the classes of `images`.
Result<std::vector<std::string>> class_folders(const OpSpec& source, const OpenSourceOptions& options);
/// The class names of an opened source in the order of their labels; empty where its samples have none.
std::vector<std::string> classes_of(const Source& source);

}  // namespace forebay
