#include "arrow_codec/ipc_codec.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "arrow_codec/byte_ranges.h"
#include "arrow_codec/ipc_footer.h"
#include "arrow_codec/ipc_table.h"

namespace forebay {

namespace {

constexpr uint64_t kEndBytes = 10;  // length of the footer and the magic word

Result<IpcFooter> footer_of(std::span<const uint8_t> tail, uint64_t file_size, uint64_t bytes) {
  if (tail.size() < bytes) return internal_error("an Arrow file was opened with less than its footer");
  return read_ipc_footer(tail.subspan(tail.size() - bytes, bytes - kEndBytes), file_size);
}

}  // namespace

Result<uint64_t> IpcCodec::index_bytes(std::span<const uint8_t> tail, uint64_t file_size) const {
  const uint8_t* end = tail.data() + tail.size();
  if (tail.size() < kEndBytes || std::memcmp(end - 6, "ARROW1", 6) != 0)
    return corrupt(
        "is no Arrow file, or it was cut off: it does not end with ARROW1 (streams without an index are not read)");
  // The end of a file: footer, its length (int32, little-endian), "ARROW1" (Arrow columnar format, IPC file).
  int32_t length = 0;
  std::memcpy(&length, end - kEndBytes, sizeof length);
  if (length <= 0 || file_size < kEndBytes || static_cast<uint64_t>(length) > file_size - kEndBytes)
    return corrupt(
        fmt::format("the footer of the Arrow file claims to be {} bytes long, in a file of {}", length, file_size));
  return static_cast<uint64_t>(length) + kEndBytes;
}

Result<std::vector<ByteRange>> IpcCodec::index_ranges(std::span<const uint8_t> tail, uint64_t file_size) const {
  FOREBAY_ASSIGN(const uint64_t bytes, index_bytes(tail, file_size));
  FOREBAY_ASSIGN(const IpcFooter footer, footer_of(tail, file_size, bytes));
  std::vector<ByteRange> ranges;
  // Of batches the head alone: it has the number of rows, which ids need before anything is read.
  for (const IpcBlock& block : footer.batches) ranges.push_back({block.offset, block.head_bytes});
  for (const IpcBlock& block : footer.dictionaries)
    ranges.push_back({block.offset, block.head_bytes + block.body_bytes});
  return sorted_apart(std::move(ranges));
}

Result<std::shared_ptr<const TableFile>> IpcCodec::open(Buffer tail, uint64_t file_size, const NullPolicy& nulls,
                                                        std::span<const TableFile::Piece> more) const {
  FOREBAY_ASSIGN(const uint64_t bytes, index_bytes(tail.span(), file_size));
  FOREBAY_ASSIGN(IpcFooter footer, footer_of(tail.span(), file_size, bytes));
  std::vector<TableFile::Piece> index(more.begin(), more.end());
  index.push_back({file_size - tail.size(), std::move(tail)});
  return IpcTable::open(std::move(index), std::move(footer), file_size, nulls);
}

}  // namespace forebay
