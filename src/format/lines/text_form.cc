#include "format/lines/text_form.h"

#include <algorithm>
#include <string_view>

#include "base/utf8.h"
#include "format/lines/json_values.h"

namespace forebay {

namespace {

constexpr std::string_view kJsonBlanks = " \t\r\n";

TextEncoding encoding_of(std::span<const uint8_t> head) {
  if (head.size() >= 2 && head[0] == 0xFF && head[1] == 0xFE) return TextEncoding::kUtf16Little;
  if (head.size() >= 2 && head[0] == 0xFE && head[1] == 0xFF) return TextEncoding::kUtf16Big;
  return TextEncoding::kUtf8;
}

bool is_one_of(char c, std::string_view all) { return all.find(c) != std::string_view::npos; }

/// `text` begins with the first non-blank character.
bool holds_values(std::string_view text, bool whole) {
  if (text.empty() || !is_one_of(text.front(), "[{")) return false;
  const size_t newline = text.find('\n');
  std::string_view line = text.substr(0, newline);
  line = line.substr(0, line.find_last_not_of(kJsonBlanks) + 1);
  const std::string_view behind = newline == std::string_view::npos ? "" : text.substr(newline);
  const size_t next = behind.find_first_not_of(kJsonBlanks);
  const bool alone = next == std::string_view::npos && (whole || newline == std::string_view::npos);
  if (alone) return text.front() == '[';
  if (is_balanced_json(line)) return false;
  const char follows = next == std::string_view::npos ? '\0' : behind[next];
  if (text.front() == '[') return is_one_of(line.back(), "{[,:") || is_one_of(follows, ",]");
  // After a truncated record the next line is a record of its own, so only the first one is bad.
  return is_one_of(line.back(), "{[") || is_one_of(follows, "\"},]");
}

}  // namespace

TextForm find_text_form(std::span<const uint8_t> head, bool whole, LineRows rows) {
  TextForm form;
  form.encoding = encoding_of(head);
  if (rows == LineRows::kAll) return form;
  std::string wide;
  if (form.encoding != TextEncoding::kUtf8) wide = utf16_as_utf8(head, form.encoding);
  std::string_view text =
      wide.empty() ? std::string_view(reinterpret_cast<const char*>(head.data()), head.size()) : wide;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  form.values = holds_values(text.substr(std::min(text.find_first_not_of(kJsonBlanks), text.size())), whole);
  return form;
}

std::string utf16_as_utf8(std::span<const uint8_t> bytes, TextEncoding encoding) {
  const size_t low = encoding == TextEncoding::kUtf16Little ? 0 : 1;
  const auto chunk = [&](size_t at) { return static_cast<uint32_t>(bytes[at + low] | bytes[at + 1 - low] << 8); };
  std::string text;
  text.reserve(bytes.size());
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) {
    uint32_t code = chunk(at);
    const bool pair = code >= 0xD800 && code < 0xDC00 && at + 3 < bytes.size() && (chunk(at + 2) & 0xFC00) == 0xDC00;
    if (pair) {
      code = 0x10000 + ((code - 0xD800) << 10) + (chunk(at + 2) - 0xDC00);
      at += 2;
    }
    append_utf8(code, text);
  }
  if (bytes.size() % 2 == 1) text += '\xFF';
  return text;
}

}  // namespace forebay
