#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "forebay/result.h"

namespace forebay {

inline constexpr uint64_t kTarBlockBytes = 512;
/// Rounds up to whole blocks, as the data of a tar entry is padded.
constexpr uint64_t whole_tar_blocks(uint64_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

/// The contents of one header block. Extension headers before it (pax, GNU) may override them.
struct TarHeaderBlock {
  std::string name;  ///< includes ustar's separate prefix
  std::string link;  ///< target of a link
  char type = '0';
  uint64_t size = 0;  ///< bytes of data after the block
};

bool is_zero_block(std::span<const uint8_t> block);
/// True if a block of 512 bytes has the magic of a ustar, pax or GNU header, even if the rest is
/// damaged.
bool has_tar_magic(std::span<const uint8_t> block);
/// Parses 512 bytes that are not all zero, in the form of ustar, GNU (base-256 numbers) or the
/// older V7. Corrupt if the checksum is wrong or a number is malformed.
Result<TarHeaderBlock> parse_tar_header(std::span<const uint8_t> block);

}  // namespace forebay
