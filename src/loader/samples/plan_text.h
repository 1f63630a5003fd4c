#pragma once

#include <string>

#include "pipeline/description.h"

namespace forebay {

/// Identifies what decides which branch of a pipeline draws when: parts with their shares, repeats,
/// draws, and batches by their lengths. Empty for a pipeline that has none of these.
std::string plan_text(const Description& description);

}  // namespace forebay
