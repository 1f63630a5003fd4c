#include "loader/open_source.h"

#include <fmt/format.h>

#include "loader/check.h"
#include "loader/sources.h"

namespace forebay {

Result<std::shared_ptr<const Source>> open_source(const OpSpec& source, const OpenSourceOptions& options) {
  if (source.opened) return source.opened;
  const SourceDef* const def = find_source(source.name);
  return def == nullptr ? problems_as_status(check(Description(source))) : def->open(source, options);
}

Result<std::vector<std::string>> class_names(const OpSpec& source, const OpenSourceOptions& options) {
  if (const SourceDef* const def = find_source(source.name); def != nullptr && def->classes)
    return def->classes(source, options);
  return invalid_argument(
      fmt::format("the source is {}; only images have classes (the folders below the root)", source.name));
}

}  // namespace forebay
