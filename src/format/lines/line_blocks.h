#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace forebay {

/// Which lines count as rows.
enum class LineRows : uint8_t {
  kAll,       ///< every line
  kNotBlank,  ///< lines that hold more than blanks, tabs and '\r'
};

/// True if the bytes are only blanks, tabs and '\r'.
bool is_blank(std::span<const uint8_t> bytes);

/// The bytes without a leading byte-order mark.
std::span<const uint8_t> without_byte_order_mark(std::span<const uint8_t> bytes);

/// Line statistics of one block of a file. They do not depend on the neighbouring blocks, so blocks
/// may be scanned in any order.
struct BlockScan {
  std::optional<uint32_t> first_newline;  ///< offset in the block
  uint32_t newlines = 0;
  uint32_t rows_within = 0;  ///< lines between two newlines of the block that count as rows
  bool blank_before = true;  ///< only blanks before the first newline, or in a block without one
  bool blank_behind = true;  ///< only blanks after the last newline
  bool ends_in_newline = false;
};

/// `begins_file` is true for the first block of a file, where a byte-order mark is ignored.
BlockScan scan_block(std::span<const uint8_t> block, bool begins_file, LineRows rows);

/// Consecutive lines of a file that are read and decoded together: the lines whose preceding
/// newline is in one block of the file. The first line belongs to the first block.
struct LineSlice {
  uint64_t begin = 0, end = 0;  ///< bytes to read; `end` is where the next slice begins
  int64_t first_line = 0;       ///< number in the file, from 0
  int64_t first_row = 0;
  int64_t rows = 0;  ///< at least 1
  bool cut = false;  ///< the last line is longer than kMostLineBytes and is read in part
  friend bool operator==(const LineSlice&, const LineSlice&) = default;
};

/// A line that extends farther beyond its block is reported as an error and not read.
constexpr uint64_t kMostLineBytes = 16 << 20;

/// The slices of a file of `size` bytes. `scans` covers every block of `block_bytes`.
std::vector<LineSlice> slices_of(std::span<const BlockScan> scans, uint64_t size, uint64_t block_bytes, LineRows rows);

}  // namespace forebay
