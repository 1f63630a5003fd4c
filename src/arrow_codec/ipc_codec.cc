#include "arrow_codec/ipc_codec.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "arrow_codec/byte_ranges.h"
#include "arrow_codec/ipc_footer.h"
#include "arrow_codec/ipc_stream.h"
#include "arrow_codec/ipc_table.h"
#include "base/sniff.h"

namespace forebay {

namespace {

constexpr uint64_t kEndBytes = 10;  // length of the footer and the magic number
constexpr std::string_view kMagic = "ARROW1";

Result<IpcFooter> footer_of(std::span<const uint8_t> tail, uint64_t file_size, uint64_t bytes) {
  if (tail.size() < bytes) return internal_error("an Arrow file was opened with less than its footer");
  return read_ipc_footer(tail.subspan(tail.size() - bytes, bytes - kEndBytes), file_size);
}

bool has_file_end(std::span<const uint8_t> tail) {
  return tail.size() >= kEndBytes &&
         std::memcmp(tail.data() + tail.size() - kMagic.size(), kMagic.data(), kMagic.size()) == 0;
}

Status check_head(const TableFile::Piece& first, uint64_t file_size) {
  const std::span<const uint8_t> head = first.bytes.span();
  if (first.offset != 0) return {};
  if (head.size() >= kMagic.size() && std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0)
    return corrupt("the Arrow file was cut off: it does not end with ARROW1; restore the file");
  const Sniffed found = sniff(head, file_size);
  if (found.kind == FileKind::kArrowStream) return {};
  // Streams of old writers begin with a length, which can only be checked against the size.
  uint32_t length = UINT32_MAX;
  if (head.size() >= sizeof length) std::memcpy(&length, head.data(), sizeof length);
  const bool may_be_old = found.kind == FileKind::kUnknown && length < file_size;
  return may_be_old ? Status() : wrong_file("an Arrow file or stream", head, file_size);
}

/// Reads a stream as the file that it would be with a footer after it.
Result<std::shared_ptr<const TableFile>> open_stream(std::vector<TableFile::Piece> index, uint64_t file_size,
                                                     const TableReading& reading) {
  if (file_size == 0) return wrong_file("an Arrow file or stream", {}, 0);
  FOREBAY_ASSIGN(IpcStream stream, walk_ipc_stream(index, file_size));
  const auto first = std::ranges::find_if(index, [&](const TableFile::Piece& piece) {
    return piece.offset == 0 && piece.bytes.size() >= stream.schema.head_bytes;
  });
  if (stream.next_read || first == index.end())
    return internal_error("an Arrow stream was opened with less than its heads");
  FOREBAY_ASSIGN(Buffer footer, make_ipc_footer(stream, first->bytes.span().first(stream.schema.head_bytes)));
  const uint64_t size = file_size + footer.size();
  index.push_back({file_size, std::move(footer)});
  return IpcTable::open(std::move(index), std::move(stream.footer), size, reading);
}

}  // namespace

Result<uint64_t> IpcCodec::index_tail_bytes(std::span<const uint8_t> tail, uint64_t file_size) const {
  // A stream has nothing at its end; its head identifies it.
  if (!has_file_end(tail)) return uint64_t{0};
  // The end of a file: footer, its length (int32, little-endian), "ARROW1" (Arrow columnar format,
  // IPC file).
  int32_t length = 0;
  std::memcpy(&length, tail.data() + tail.size() - kEndBytes, sizeof length);
  if (length <= 0 || file_size < kEndBytes || static_cast<uint64_t>(length) > file_size - kEndBytes)
    return corrupt(
        fmt::format("the footer of the Arrow file claims to be {} bytes long, in a file of {}", length, file_size));
  return static_cast<uint64_t>(length) + kEndBytes;
}

Result<std::vector<ByteRange>> IpcCodec::index_ranges(std::span<const uint8_t> tail, uint64_t file_size,
                                                      std::span<const TableFile::Piece> have) const {
  std::vector<ByteRange> ranges;
  if (!has_file_end(tail)) {
    if (!have.empty()) FOREBAY_RETURN_IF_ERROR(check_head(have.front(), file_size));
    // Each piece begins at a message.
    FOREBAY_ASSIGN(const IpcStream stream, walk_ipc_stream(have, file_size, have.empty() ? 0 : have.back().offset));
    if (stream.next_read) ranges.push_back(*stream.next_read);
    return ranges;
  }
  if (!have.empty()) return ranges;
  FOREBAY_ASSIGN(const uint64_t bytes, index_tail_bytes(tail, file_size));
  FOREBAY_ASSIGN(const IpcFooter footer, footer_of(tail, file_size, bytes));
  // For batches only the head is needed: it has the number of rows, which ids need before anything
  // is read.
  for (const IpcBlock& block : footer.batches) ranges.push_back({block.offset, block.head_bytes});
  for (const IpcBlock& block : footer.dictionaries)
    ranges.push_back({block.offset, block.head_bytes + block.body_bytes});
  return disjoint_ranges(std::move(ranges));
}

Result<std::shared_ptr<const TableFile>> IpcCodec::open(Buffer tail, uint64_t file_size, const TableReading& reading,
                                                        std::span<const TableFile::Piece> more) const {
  std::vector<TableFile::Piece> index(more.begin(), more.end());
  if (!has_file_end(tail.span())) return open_stream(std::move(index), file_size, reading);
  FOREBAY_ASSIGN(const uint64_t bytes, index_tail_bytes(tail.span(), file_size));
  FOREBAY_ASSIGN(IpcFooter footer, footer_of(tail.span(), file_size, bytes));
  index.push_back({file_size - tail.size(), std::move(tail)});
  return IpcTable::open(std::move(index), std::move(footer), file_size, reading);
}

}  // namespace forebay
