#include "codec/crc32.h"

#include <array>

namespace forebay {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
    table[i] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32(std::span<const uint8_t> bytes) {
  uint32_t value = 0xFFFFFFFFu;
  for (const uint8_t byte : bytes) value = kTable[(value ^ byte) & 0xFF] ^ (value >> 8);
  return ~value;
}

}  // namespace forebay
