#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay {

/// A part of a division into contiguous runs whose lengths differ by at most one, the longer ones
/// first. Shard assignment by count uses it.
struct EqualPart {
  int64_t begin = 0, length = 0;
};

inline EqualPart equal_part(int64_t slots, int64_t parts, int64_t part) {
  const int64_t share = slots / parts, longer = slots % parts;
  return {part * share + std::min(part, longer), share + (part < longer ? 1 : 0)};
}

/// The part that contains `slot`, which is in [0, slots).
inline int64_t part_with(int64_t slot, int64_t slots, int64_t parts) {
  const int64_t share = slots / parts, longer = slots % parts, in_longer = longer * (share + 1);
  return slot < in_longer ? slot / (share + 1) : longer + (slot - in_longer) / share;
}

}  // namespace forebay
