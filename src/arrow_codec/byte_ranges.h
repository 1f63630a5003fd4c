#pragma once

#include <vector>

#include "forebay/status.h"

namespace forebay {

/// The same bytes as ranges that rise and do not overlap; those that only touch stay apart. Empty ones are left out.
std::vector<ByteRange> sorted_apart(std::vector<ByteRange> ranges);

}  // namespace forebay
