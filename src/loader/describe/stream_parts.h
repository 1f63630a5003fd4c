#pragma once

#include <optional>
#include <string>
#include <utility>

#include "pipeline/description.h"

namespace forebay {

/// Whether a pipeline has a stream: its source, or that of a part.
bool has_stream(const Description& description);

/// Returns why a stream cannot be a part of a source with parts, and the remedy. Nothing if it can.
std::optional<std::pair<std::string, std::string>> wrong_place_of_stream(const OpSpec& source);

}  // namespace forebay
