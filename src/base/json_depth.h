#pragma once

#include <cstddef>
#include <string_view>

namespace forebay {

/// Far deeper than anything that is described here.
constexpr size_t kDeepestJson = 128;

/// Whether lists and objects of a JSON text stand in one another deeper than that. For texts of strangers, before they are parsed: what copies or
/// writes the values calls itself once for each level, and a text of some hundred kilobytes could be more levels than a stack holds. Text that is
/// no JSON gives either answer. Linear.
bool nests_too_deep(std::string_view json, size_t deepest = kDeepestJson);

}  // namespace forebay
