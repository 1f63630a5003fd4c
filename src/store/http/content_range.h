#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "forebay/status.h"

namespace forebay {

struct ContentRange {
  uint64_t first = 0, last = 0;
  std::optional<uint64_t> total;  ///< absent if the server does not know it ("*")
};

/// Parses "bytes 0-9/10". Returns nothing for other texts and for contradictions.
std::optional<ContentRange> parse_content_range(std::string_view text);

/// Checks that an answer with this Content-Range and size is the requested part, or its beginning
/// if the object ends inside it. Otherwise Unavailable, because another attempt may do better.
Status check_part(const ByteRange& range, std::string_view content_range, uint64_t body_bytes);

/// Parses a text that consists of decimal digits only.
std::optional<uint64_t> parse_count(std::string_view text);

/// Returns whether a Range header can express the range: it is not empty, and no server takes its
/// end for a negative number.
bool is_expressible_range(const ByteRange& range);

}  // namespace forebay
