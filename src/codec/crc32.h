#pragma once

#include <cstdint>
#include <span>

namespace forebay {

/// The CRC of PNG chunks (ISO 3309).
uint32_t crc32(std::span<const uint8_t> bytes);

}  // namespace forebay
