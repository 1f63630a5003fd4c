#pragma once

#include <cstdint>
#include <span>

namespace forebay {

bool has_avx2();
/// Whether the bytes are UTF-8. Requires has_avx2().
bool is_utf8_avx2(std::span<const uint8_t> bytes);

}  // namespace forebay
