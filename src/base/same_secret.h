#pragma once

#include <string_view>

namespace forebay {

/// Takes as long whatever differs, and wherever.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace forebay
