#pragma once

#include <string_view>

namespace forebay {

/// Compares two secrets in a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace forebay
