#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/source.h"
#include "pipeline/catalog.h"

namespace forebay {

/// What a field was called before a `.rename()`.
std::string name_before(const OpSpec& rename, const std::string& name);

/// The field of the source that `name` is in front of a step of the description, where nothing has changed its values and it is known without
/// reading. `inference`: of that description.
std::optional<size_t> untouched_field(const Description& description, const Inference& inference, const Source& source,
                                      std::string name, size_t step);

}  // namespace forebay
