#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "pipeline/op_spec.h"

namespace forebay {

/// Returns the problem, as message and remedy, of a source that cannot be that of a part of a zip.
std::optional<std::pair<std::string, std::string>> wrong_source_in_zip(const OpSpec& source);
/// The order that a part of a zip follows.
enum class PartOrder : uint8_t {
  kFirst,  ///< it is the first part, whose order is that of the zip
  kOther,  ///< the order of the first part
  kOwn,    ///< draws of its own
};
/// The same for a step of a part that is no source.
std::optional<std::pair<std::string, std::string>> wrong_step_in_zip(const OpSpec& step, PartOrder order);

/// The same for a function that is the first of these steps, which end the part.
std::optional<std::pair<std::string, std::string>> unnamed_fields_in_zip(std::span<const OpSpec> steps);

}  // namespace forebay
