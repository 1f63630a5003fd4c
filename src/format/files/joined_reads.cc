#include "format/files/joined_reads.h"

#include <algorithm>

namespace forebay {

namespace {
// Reading through a gap is cheaper than another request up to about the bytes that a store sends in
// one round trip.
constexpr uint64_t kGapBytes = 64 << 10;
constexpr uint64_t kRequestBytes = 8 << 20;
}  // namespace

std::vector<ReadRequest> joined_reads(const std::string& key, uint64_t object_size, std::span<const ByteRange> ranges) {
  std::vector<ReadRequest> reads;
  const auto add = [&](ByteRange range) {
    while (range.length > 0) {
      const uint64_t length = std::min(range.length, kRequestBytes);
      reads.push_back({key, ByteRange{range.offset, length}, object_size, {}});
      range = {range.offset + length, range.length - length};
    }
  };
  for (const ByteRange& range : ranges) {
    ByteRange* last = reads.empty() ? nullptr : &*reads.back().range;
    const uint64_t end = last ? last->offset + last->length : 0;
    const uint64_t joined = last ? range.offset + range.length - last->offset : 0;
    if (last && range.offset >= end && range.offset - end <= kGapBytes && joined <= kRequestBytes)
      last->length = joined;
    else
      add(range);
  }
  return reads;
}

}  // namespace forebay
