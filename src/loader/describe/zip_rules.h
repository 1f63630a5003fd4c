#pragma once

#include <optional>
#include <string>
#include <utility>

#include "pipeline/op_spec.h"

namespace forebay {

/// Returns the problem, as message and remedy, of a source that cannot be that of a part of a zip.
std::optional<std::pair<std::string, std::string>> wrong_source_in_zip(const OpSpec& source);
/// The same for a step of a part that is no source. `first`: whether it is the first part, whose
/// order is that of the zip.
std::optional<std::pair<std::string, std::string>> wrong_step_in_zip(const OpSpec& step, bool first);

}  // namespace forebay
