#pragma once

#include <string>
#include <string_view>

namespace forebay {

/// As text or as an attribute in quotes; bytes that are not UTF-8, and characters that HTML has no place for, become U+FFFD.
std::string escape_html(std::string_view text);

}  // namespace forebay
