#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "format/lines/line_blocks.h"

namespace forebay {

enum class TextEncoding : uint8_t { kUtf8, kUtf16Little, kUtf16Big };

/// How the rows of a file stand in its bytes.
struct TextForm {
  TextEncoding encoding = TextEncoding::kUtf8;
  /// The rows are JSON values and not lines: the elements of the one list that the file is, or values that go over several lines.
  bool values = false;

  /// Lines of UTF-8: blocks of the file can be looked at in any order.
  bool plain() const { return encoding == TextEncoding::kUtf8 && !values; }
  size_t chunk_bytes() const { return encoding == TextEncoding::kUtf8 ? 1 : 2; }
  friend bool operator==(const TextForm&, const TextForm&) = default;
};

/// Judged by the first bytes of a file, at least its first line where that is possible. `whole`: there are no more. UTF-16 is told by
/// its byte order mark. Where rows are lines that are not blank (JSON), a file is values if it begins with a list that no line
/// follows, or with a value that its first line does not end.
TextForm find_text_form(std::span<const uint8_t> head, bool whole, LineRows rows);

/// UTF-16 as UTF-8, a byte order mark included. Halves of pairs by themselves become bytes that are no UTF-8, and so does an odd last byte.
std::string utf16_as_utf8(std::span<const uint8_t> bytes, TextEncoding encoding);

/// Most bytes of UTF-8 that `bytes` bytes of the encoding become.
constexpr uint64_t utf8_bytes(uint64_t bytes, TextEncoding encoding) {
  return encoding == TextEncoding::kUtf8 ? bytes : bytes + bytes / 2 + 3;
}

}  // namespace forebay
