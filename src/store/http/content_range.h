#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "forebay/status.h"

namespace forebay {

struct ContentRange {
  uint64_t first = 0, last = 0;
  std::optional<uint64_t> total;  ///< absent where the server does not know it ("*")
};

/// "bytes 0-9/10"; nothing where the header is not of that form, or contradicts itself.
std::optional<ContentRange> parse_content_range(std::string_view text);

/// Whether an answer with this Content-Range and so many bytes is the part that was asked for, or its beginning (where the object
/// ends inside it): else Unavailable, since another attempt may do better.
Status check_part(const ByteRange& range, std::string_view content_range, uint64_t body_bytes);

/// A whole text of decimal digits.
std::optional<uint64_t> parse_count(std::string_view text);

/// A range that a Range header can say: something, and not beyond what servers count to.
bool sayable(const ByteRange& range);

}  // namespace forebay
