#pragma once

#include <cstddef>
#include <string_view>

namespace forebay {

/// Much deeper than any JSON of this project.
constexpr size_t kDeepestJson = 128;

/// Whether lists and objects of a JSON text are nested more than `deepest` levels. Call it on
/// untrusted text before parsing. Code that copies or writes the values recurses once for each
/// level, and a text of some hundred kilobytes can have more levels than a stack holds. Text that
/// is not JSON may give either answer. Linear.
bool nests_too_deep(std::string_view json, size_t deepest = kDeepestJson);

}  // namespace forebay
