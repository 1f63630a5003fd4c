#include "store/range.h"

#include <fmt/format.h>

namespace forebay {

Status size_changed(uint64_t expected, uint64_t now) {
  return corrupt(fmt::format("changed: the listing said {} bytes, now {}", expected, now));
}

Status larger_than_set_aside(uint64_t set_aside, uint64_t size) {
  return out_of_budget(fmt::format("{} bytes, and {} were set aside for it", size, set_aside), size);
}

bool ensure_set_aside(const ReadRequest& request, uint64_t bytes) {
  if (!request.set_aside_bytes || bytes <= *request.set_aside_bytes) return true;
  return request.set_aside && request.set_aside(bytes);
}

Status read_failure(const ReadRequest& request, const Status& failure) {
  const uint64_t needed = failure.bytes_needed(), given = request.set_aside_bytes.value_or(0);
  // Transports refuse answers that are too long as Unsupported; only the request tells why the
  // limit was set.
  if (request.range || failure.code() != Code::kUnsupported || needed == 0) return failure;
  if (request.expected_size)
    return corrupt(fmt::format("changed: the listing said {} bytes, and now there are more", *request.expected_size));
  return request.set_aside_bytes && needed > given ? larger_than_set_aside(given, needed) : failure;
}

Result<ByteRange> resolve_range(const ReadRequest& request, uint64_t size) {
  if (request.expected_size && *request.expected_size != size) return size_changed(*request.expected_size, size);
  const ByteRange range = request.range.value_or(ByteRange{0, size});
  // In this order no sum can overflow, whatever the request says.
  if (range.offset > size || range.length > size - range.offset) {
    return corrupt(fmt::format("shorter than expected: {} bytes, but {} from {} were asked for", size, range.length,
                               range.offset))
        .with_range(range);
  }
  // A whole object has grown beyond the guess: the caller may read again with more memory.
  if (!ensure_set_aside(request, range.length)) return larger_than_set_aside(*request.set_aside_bytes, range.length);
  return range;
}

}  // namespace forebay
