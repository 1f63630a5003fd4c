#include "arrow_codec/byte_ranges.h"

#include <algorithm>

namespace forebay {

std::vector<ByteRange> disjoint_ranges(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  std::vector<ByteRange> apart;
  for (const ByteRange& range : ranges) {
    if (range.length == 0) continue;
    // Callers have checked the ranges against the file's size, so no sum overflows.
    if (!apart.empty() && range.offset < apart.back().offset + apart.back().length) {
      const uint64_t end = std::max(apart.back().offset + apart.back().length, range.offset + range.length);
      apart.back().length = end - apart.back().offset;
    } else {
      apart.push_back(range);
    }
  }
  return apart;
}

}  // namespace forebay
