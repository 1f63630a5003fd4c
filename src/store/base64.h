#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace forebay {

/// Encodes in base64 with the letters "+" and "/", padded with "=".
std::string base64(std::span<const uint8_t> bytes);

}  // namespace forebay
