#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/itinerary.h"

namespace forebay {

/// The ends of the segments of blocks, in the form that attention over sequences of different
/// lengths takes (`cu_seqlens` of flash-attn): 0, then the end of each segment. The padding of a
/// block counts as a segment, so the last end is the length of the block.
struct EndsOfSegments {
  std::vector<int32_t> ends;     ///< of all blocks
  std::vector<size_t> first;     ///< index in `ends` of each block's 0, then the total
  std::vector<int32_t> longest;  ///< length of each block's longest segment

  std::span<const int32_t> of_block(size_t block) const {
    return std::span(ends).subspan(first[block], first[block + 1] - first[block]);
  }
};

/// `entries`: the ends of each block are filled up with its length to so many; 0: they are not.
EndsOfSegments ends_of_segments(const StepPlan& step, int64_t length, int64_t entries);

}  // namespace forebay
