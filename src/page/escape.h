#pragma once

#include <string>
#include <string_view>

namespace forebay {

/// Escapes a text for use as HTML text or as a quoted attribute. Bytes that are not UTF-8, and
/// characters that HTML does not allow, become U+FFFD.
std::string escape_html(std::string_view text);

}  // namespace forebay
