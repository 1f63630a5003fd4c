#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "format/lines/line_blocks.h"

namespace forebay {

enum class TextEncoding : uint8_t { kUtf8, kUtf16Little, kUtf16Big };

/// How the bytes of a file encode its rows.
struct TextForm {
  TextEncoding encoding = TextEncoding::kUtf8;
  /// The rows are JSON values and not lines: the elements of the one list that the file consists
  /// of, or values that span several lines.
  bool values = false;

  /// True for lines of UTF-8, whose blocks can be scanned in any order.
  bool plain() const { return encoding == TextEncoding::kUtf8 && !values; }
  size_t chunk_bytes() const { return encoding == TextEncoding::kUtf8 ? 1 : 2; }
  friend bool operator==(const TextForm&, const TextForm&) = default;
};

/// Determines the form from the first bytes of a file, which include its first line if that is
/// possible. `whole` is true if they are the whole file. UTF-16 is recognised by its byte-order
/// mark. If blank lines are not rows (JSON), a file consists of values if it begins with a list
/// that no other line follows, or with a value that does not end on the first line.
TextForm find_text_form(std::span<const uint8_t> head, bool whole, LineRows rows);

/// Converts UTF-16, including a byte-order mark, to UTF-8. Unpaired surrogates and an odd last byte
/// become bytes that are not valid UTF-8.
std::string utf16_as_utf8(std::span<const uint8_t> bytes, TextEncoding encoding);

/// Upper bound of the UTF-8 size of `bytes` bytes of the encoding.
constexpr uint64_t utf8_bytes(uint64_t bytes, TextEncoding encoding) {
  return encoding == TextEncoding::kUtf8 ? bytes : bytes + bytes / 2 + 3;
}

}  // namespace forebay
