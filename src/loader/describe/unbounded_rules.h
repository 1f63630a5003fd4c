#pragma once

#include <vector>

#include "forebay/problem.h"
#include "pipeline/description.h"

namespace forebay {

/// Whether a source has no end: a stream, or files that are followed.
bool is_unbounded(const OpSpec& source);

/// Returns the problems of steps that do not fit the source: those for data sets over a stream, and
/// those for streams over a data set.
std::vector<Problem> unbounded_problems(const Description& description);

}  // namespace forebay
