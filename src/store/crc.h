#pragma once

#include <cstdint>
#include <span>

namespace forebay {

/// The checksums that object stores use: CRC-32 (ISO 3309), CRC-32C (Castagnoli) and CRC-64/NVME.
uint32_t crc32_iso(std::span<const uint8_t> bytes);
uint32_t crc32c(std::span<const uint8_t> bytes);
uint64_t crc64_nvme(std::span<const uint8_t> bytes);

}  // namespace forebay
