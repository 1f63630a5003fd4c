#pragma once

#include <cstdint>
#include <span>

namespace forebay {

/// Returns whether the bytes are UTF-8.
using Utf8Check = bool (*)(std::span<const uint8_t> bytes);

/// The check in vectors of one instruction set. Null if this processor does not have it.
Utf8Check utf8_check_avx2();
Utf8Check utf8_check_neon();

}  // namespace forebay
