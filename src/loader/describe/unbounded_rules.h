#pragma once

#include <vector>

#include "forebay/problem.h"
#include "pipeline/description.h"

namespace forebay {

/// Whether a source has no end: a stream, or files that are followed.
bool is_unbounded(const OpSpec& source);

/// Returns the steps' problems that follow from a source without an end, or with one.
std::vector<Problem> unbounded_problems(const Description& description);

}  // namespace forebay
