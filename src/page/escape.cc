#include "page/escape.h"

#include <nlohmann/json.hpp>

namespace forebay {

namespace {

// Converts through a JSON string, whose writer replaces bytes that are not UTF-8.
std::string valid_utf8(std::string_view text) {
  const nlohmann::json value = std::string(text);
  return nlohmann::json::parse(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)).get<std::string>();
}

bool is_forbidden(char c) {
  const auto byte = static_cast<unsigned char>(c);
  // The bytes of longer characters are 0x80 or more, so it suffices to check one byte at a time.
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default:
        if (is_forbidden(c)) {
          escaped += "\xEF\xBF\xBD";
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

}  // namespace forebay
