#include "format/lines/line_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace forebay {

namespace {

constexpr uint8_t kUtf8Mark[] = {0xef, 0xbb, 0xbf};

std::optional<size_t> find_newline(std::span<const uint8_t> bytes) {
  const void* found = bytes.empty() ? nullptr : std::memchr(bytes.data(), '\n', bytes.size());
  if (found == nullptr) return std::nullopt;
  return static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes.data());
}

/// Scans line by line, because only non-blank lines count.
void scan_lines(std::span<const uint8_t> rest, BlockScan& scan) {
  while (const std::optional<size_t> newline = find_newline(rest)) {
    scan.rows_within += is_blank(rest.first(*newline)) ? 0 : 1;
    ++scan.newlines;
    rest = rest.subspan(*newline + 1);
  }
  scan.blank_behind = is_blank(rest);
}

/// Combines blocks in order. The last line of a slice stays open until a newline ends it, in
/// whichever block that is.
class SliceMaker {
 public:
  SliceMaker(uint64_t size, uint64_t block_bytes, LineRows rows)
      : size_(size), block_bytes_(block_bytes), rows_(rows) {}

  void add(const BlockScan& scan) {
    const uint64_t begin = std::exchange(next_block_, next_block_ + block_bytes_);
    if (begin == 0) open(0);
    // A line may span any number of blocks.
    blank_ = blank_ && scan.blank_before;
    ends_in_newline_ = scan.ends_in_newline;
    if (!scan.first_newline) return;
    end_line();
    // The lines of the first block belong to the slice that begins with the file.
    if (begin > 0) {
      close(begin + *scan.first_newline + 1);
      open(begin + *scan.first_newline + 1);
    }
    lines_ += scan.newlines - 1;
    slice_.rows += rows_ == LineRows::kAll ? scan.newlines - 1 : scan.rows_within;
    blank_ = scan.blank_behind;
    line_at_end_ = scan.ends_in_newline;
  }

  std::vector<LineSlice> finish() {
    if (!ends_in_newline_) end_line();
    if (slice_.begin < size_) close(size_);
    return std::move(slices_);
  }

 private:
  void open(uint64_t at) {
    slice_ = {at, at, lines_, total_rows_, 0, false};
    block_end_ = next_block_;
  }

  void end_line() {
    ++lines_;
    last_is_row_ = rows_ == LineRows::kAll || !blank_;
    slice_.rows += last_is_row_ ? 1 : 0;
    blank_ = true;
  }

  void close(uint64_t end) {
    const bool too_long = end > block_end_ && end - block_end_ > kMostLineBytes;
    // A line that is too long is read in part, so that a file without line ends does not become one
    // large chunk. The next slice still begins at `end`. At least the first byte of the last line
    // is read; that line may begin at the end of the block.
    slice_.end = too_long ? std::max(block_end_ + (line_at_end_ ? 1 : 0), slice_.begin + 1) : end;
    slice_.cut = too_long && last_is_row_;
    total_rows_ += slice_.rows;
    if (slice_.rows > 0) slices_.push_back(slice_);
  }

  const uint64_t size_, block_bytes_;
  const LineRows rows_;
  uint64_t next_block_ = 0, block_end_ = 0;
  LineSlice slice_;
  int64_t lines_ = 0, total_rows_ = 0;
  bool blank_ = true;  // the open line is blank so far
  bool last_is_row_ = false, ends_in_newline_ = false;
  bool line_at_end_ = false;  // the open line begins at the end of the slice's block
  std::vector<LineSlice> slices_;
};

}  // namespace

bool is_blank(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\r'; });
}

std::span<const uint8_t> without_byte_order_mark(std::span<const uint8_t> bytes) {
  const bool marked = bytes.size() >= 3 && std::memcmp(bytes.data(), kUtf8Mark, 3) == 0;
  return marked ? bytes.subspan(3) : bytes;
}

BlockScan scan_block(std::span<const uint8_t> block, bool begins_file, LineRows rows) {
  BlockScan scan;
  const std::optional<size_t> first = find_newline(block);
  const std::span<const uint8_t> before = block.first(first.value_or(block.size()));
  scan.blank_before = is_blank(begins_file ? without_byte_order_mark(before) : before);
  scan.ends_in_newline = !block.empty() && block.back() == '\n';
  if (!first) {
    scan.blank_behind = scan.blank_before;
    return scan;
  }
  scan.first_newline = static_cast<uint32_t>(*first);
  scan.newlines = 1;
  const std::span<const uint8_t> rest = block.subspan(*first + 1);
  if (rows == LineRows::kNotBlank)
    scan_lines(rest, scan);
  else
    scan.newlines += static_cast<uint32_t>(std::ranges::count(rest, uint8_t{'\n'}));
  return scan;
}

std::vector<LineSlice> slices_of(std::span<const BlockScan> scans, uint64_t size, uint64_t block_bytes, LineRows rows) {
  if (size == 0) return {};
  SliceMaker maker(size, block_bytes, rows);
  for (const BlockScan& scan : scans) maker.add(scan);
  return maker.finish();
}

}  // namespace forebay
