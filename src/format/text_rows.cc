#include "format/text_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/utf8.h"

namespace forebay {
namespace {

Buffer buffer_of(std::span<const uint8_t> bytes) {
  Buffer buffer = Buffer::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer.data(), bytes.data(), bytes.size());
  return buffer;
}

uint32_t code_point(std::span<const uint8_t> row, size_t i) {
  uint32_t code = 0;
  std::memcpy(&code, row.data() + 4 * i, 4);
  return code;
}

/// Returns false if the code is not a character.
bool append_character(uint32_t code, std::string& text) {
  if (code >= 0xDC80 && code <= 0xDCFF) {  // Python's "surrogateescape"
    text += static_cast<char>(code & 0xFF);
    return true;
  }
  if ((code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return false;
  append_utf8(code, text);
  return true;
}

}  // namespace

Result<Buffer> text_of_row(std::span<const uint8_t> row, DType dtype) {
  if (dtype == DType::kUint8) {
    const auto end = std::find_if(row.rbegin(), row.rend(), [](uint8_t byte) { return byte != 0; }).base();
    return buffer_of(row.first(static_cast<size_t>(end - row.begin())));
  }
  size_t count = row.size() / 4;
  // NumPy cannot tell trailing zeros of a text from padding, and drops them too.
  while (count > 0 && code_point(row, count - 1) == 0) --count;
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (!append_character(code_point(row, i), text))
      return unsupported(fmt::format("the text has U+{:04X}, which is not a valid character", code_point(row, i)));
  }
  return buffer_of({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace forebay
