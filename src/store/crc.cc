#include "store/crc.h"

#include <libdeflate.h>

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace forebay {

namespace {

/// Processes eight bytes a step by tables: entry [k][b] is the effect of byte b when k more bytes
/// follow it. For polynomials with reversed bits.
template <typename Crc, Crc kPolynomial>
class TableCrc {
 public:
  constexpr TableCrc() {
    for (size_t byte = 0; byte < 256; ++byte) {
      Crc crc = static_cast<Crc>(byte);
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ kPolynomial : crc >> 1;
      table_[0][byte] = crc;
    }
    for (size_t k = 1; k < 8; ++k) {
      for (size_t byte = 0; byte < 256; ++byte) {
        const Crc before = table_[k - 1][byte];
        table_[k][byte] = before >> 8 ^ table_[0][before & 0xff];
      }
    }
  }

  Crc operator()(std::span<const uint8_t> bytes) const {
    Crc crc = ~Crc{0};
    const uint8_t* at = bytes.data();
    size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
      uint64_t word = 0;
      for (unsigned i = 0; i < 8; ++i) word |= uint64_t{at[i]} << 8 * i;
      // The state belongs to the first bytes. A 32-bit state leaves the upper half of the word
      // unchanged.
      word ^= crc;
      Crc next = 0;
      for (unsigned i = 0; i < 8; ++i) next ^= table_[7 - i][word >> 8 * i & 0xff];
      crc = next;
    }
    for (; left > 0; --left, ++at) crc = crc >> 8 ^ table_[0][(crc ^ *at) & 0xff];
    return ~crc;
  }

 private:
  std::array<std::array<Crc, 256>, 8> table_{};
};

// The instruction implements this polynomial (Castagnoli). libdeflate has the fast form of the first
// one, and for the last no processor has an instruction.
#if defined(__x86_64__)
#define FOREBAY_CRC32C __attribute__((target("sse4.2")))
FOREBAY_CRC32C uint32_t add_word(uint32_t crc, uint64_t word) {
  return static_cast<uint32_t>(__builtin_ia32_crc32di(crc, word));
}
FOREBAY_CRC32C uint32_t add_byte(uint32_t crc, uint8_t byte) { return __builtin_ia32_crc32qi(crc, byte); }
bool has_instruction() { return __builtin_cpu_supports("sse4.2"); }
#elif defined(__aarch64__)
#define FOREBAY_CRC32C __attribute__((target("+crc")))
FOREBAY_CRC32C uint32_t add_word(uint32_t crc, uint64_t word) { return __builtin_aarch64_crc32cx(crc, word); }
FOREBAY_CRC32C uint32_t add_byte(uint32_t crc, uint8_t byte) { return __builtin_aarch64_crc32cb(crc, byte); }
bool has_instruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif

#ifdef FOREBAY_CRC32C
FOREBAY_CRC32C uint32_t crc32c_by_instruction(std::span<const uint8_t> bytes) {
  uint32_t crc = ~uint32_t{0};
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    crc = add_word(crc, word);
  }
  for (; left > 0; --left, ++at) crc = add_byte(crc, *at);
  return ~crc;
}
#endif

}  // namespace

uint32_t crc32_iso(std::span<const uint8_t> bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

uint32_t crc32c(std::span<const uint8_t> bytes) {
#ifdef FOREBAY_CRC32C
  static const bool by_instruction = has_instruction();
  if (by_instruction) return crc32c_by_instruction(bytes);
#endif
  static constexpr TableCrc<uint32_t, 0x82f63b78> kCrc;
  return kCrc(bytes);
}

uint64_t crc64_nvme(std::span<const uint8_t> bytes) {
  static constexpr TableCrc<uint64_t, 0x9a6c9329ac4bc9b5> kCrc;
  return kCrc(bytes);
}

}  // namespace forebay
