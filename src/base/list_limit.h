#pragma once

#include <cstddef>

namespace forebay {

/// The most objects, or encoded values, in a list of one sample. Sizes in bytes then stay far below
/// 2^63.
constexpr size_t kMostInList = 1 << 16;

}  // namespace forebay
