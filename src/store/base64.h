#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace forebay {

/// With the letters "+" and "/", filled up with "=".
std::string base64(std::span<const uint8_t> bytes);

}  // namespace forebay
