#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace forebay {

/// Which lines are rows.
enum class LineRows : uint8_t {
  kAll,       ///< every line
  kNotBlank,  ///< those with more than blanks, tabs and '\r'
};

/// Blanks, tabs and '\r' alone.
bool is_blank(std::span<const uint8_t> bytes);

/// The bytes behind the byte order mark, where there is one.
std::span<const uint8_t> without_byte_order_mark(std::span<const uint8_t> bytes);

/// What one block of a file says about its lines, whatever the blocks around it hold: so that blocks may be looked at in any order.
struct BlockScan {
  std::optional<uint32_t> first_newline;  ///< place in the block
  uint32_t newlines = 0;
  uint32_t rows_within = 0;  ///< lines between two newlines of the block that are rows
  bool blank_before = true;  ///< nothing but blanks before its first newline, or in all of it
  bool blank_behind = true;  ///< behind its last one
  bool ends_in_newline = false;
};

/// `begins_file`: a byte order mark at its beginning counts for nothing.
BlockScan scan_block(std::span<const uint8_t> block, bool begins_file, LineRows rows);

/// Consecutive lines of a file, read and decoded together: those whose preceding newline stands in one block of the file (the first
/// line: in the first block).
struct LineSlice {
  uint64_t begin = 0, end = 0;  ///< bytes to read; `end` is where the next slice begins
  int64_t first_line = 0;       ///< in the file, from 0
  int64_t first_row = 0;
  int64_t rows = 0;  ///< not 0
  bool cut = false;  ///< its last line is longer than kMostLineBytes and read in part
  friend bool operator==(const LineSlice&, const LineSlice&) = default;
};

/// A line that reaches farther behind its block than that is told, not read.
constexpr uint64_t kMostLineBytes = 16 << 20;

/// The slices of a file of `size` bytes, of which every block of `block_bytes` was scanned.
std::vector<LineSlice> slices_of(std::span<const BlockScan> scans, uint64_t size, uint64_t block_bytes, LineRows rows);

}  // namespace forebay
