#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/source.h"
#include "pipeline/catalog.h"

namespace forebay {

/// Returns the name that a field had before a step that renames fields. `before`: those before it.
std::string name_before(const OpSpec& rename, const Schema& before, const std::string& name);

/// Returns the source field that `name` is before step `step`, if no step has changed its values
/// and the values are known without a read. `inference` is that of `description`.
std::optional<size_t> untouched_field(const Description& description, const Inference& inference, const Source& source,
                                      std::string name, size_t step);

}  // namespace forebay
