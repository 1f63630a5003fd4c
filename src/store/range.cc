#include "store/range.h"

#include <fmt/format.h>

namespace forebay {

Status size_changed(uint64_t expected, uint64_t now) {
  return corrupt(fmt::format("changed: the listing said {} bytes, now {}", expected, now));
}

Result<ByteRange> resolve_range(const ReadRequest& request, uint64_t size) {
  if (request.expected_size && *request.expected_size != size) return size_changed(*request.expected_size, size);
  if (!request.range) return ByteRange{0, size};
  const ByteRange range = *request.range;
  if (range.offset > size || range.length > size - range.offset) {
    return corrupt(fmt::format("shorter than expected: {} bytes, but {} from {} were asked for", size, range.length,
                               range.offset))
        .with_range(range);
  }
  return range;
}

}  // namespace forebay
