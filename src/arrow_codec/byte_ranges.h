#pragma once

#include <vector>

#include "forebay/status.h"

namespace forebay {

/// The same bytes as ascending ranges that do not overlap. Adjacent ranges are not joined, and
/// empty ones are dropped.
std::vector<ByteRange> disjoint_ranges(std::vector<ByteRange> ranges);

}  // namespace forebay
