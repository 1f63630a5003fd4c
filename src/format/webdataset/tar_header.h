#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "forebay/result.h"

namespace forebay {

inline constexpr uint64_t kTarBlockBytes = 512;
/// Data of an entry fills whole blocks.
constexpr uint64_t whole_tar_blocks(uint64_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

/// What a header block says by itself; headers before it (pax, GNU) may say otherwise.
struct TarHeaderBlock {
  std::string name;  ///< with the prefix that ustar keeps apart
  std::string link;  ///< the name that a link leads to
  char type = '0';
  uint64_t size = 0;  ///< bytes of data behind the block
};

bool is_zero_block(std::span<const uint8_t> block);
/// Whether 512 bytes bear the mark of a header of ustar, pax or GNU, however damaged the rest is.
bool has_tar_magic(std::span<const uint8_t> block);
/// Of 512 bytes that are not all zero: ustar, GNU (numbers in base 256) and what was before both. Corrupt where the checksum is wrong
/// or a number is none.
Result<TarHeaderBlock> parse_tar_header(std::span<const uint8_t> block);

}  // namespace forebay
