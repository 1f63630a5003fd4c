#pragma once

#include <vector>

#include "forebay/pipeline.h"
#include "pipeline/description.h"

namespace forebay {

/// Whether a source has no end: a stream, or files that are followed.
bool is_unbounded(const OpSpec& source);

/// What is wrong with the steps of a description because its source has no end, or has one.
std::vector<Problem> unbounded_problems(const Description& description);

}  // namespace forebay
