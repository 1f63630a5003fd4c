#include "arrow_codec/piece_file.h"

#include <algorithm>
#include <cstring>

#include <arrow/result.h>
#include <arrow/status.h>

#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

/// Arrow buffer that owns a share of the memory that it refers to.
class OwningView final : public arrow::Buffer {
 public:
  explicit OwningView(forebay::Buffer bytes)
      : arrow::Buffer(bytes.data(), static_cast<int64_t>(bytes.size())), bytes_(std::move(bytes)) {}

 private:
  forebay::Buffer bytes_;
};

}  // namespace

std::shared_ptr<arrow::Buffer> arrow_view(const Buffer& bytes) { return std::make_shared<OwningView>(bytes); }

Buffer forebay_view(std::shared_ptr<arrow::Buffer> bytes) {
  // Nobody writes to it: changing values allocates new memory (columns.h).
  auto* data = const_cast<uint8_t*>(bytes->data());
  const auto size = static_cast<size_t>(bytes->size());
  return Buffer(data, size, std::move(bytes));
}

PieceFile::PieceFile(std::span<const TableFile::Piece> pieces, uint64_t file_size)
    : pieces_(pieces.begin(), pieces.end()), file_size_(file_size) {
  std::sort(pieces_.begin(), pieces_.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
}

arrow::Status PieceFile::no_position() { return arrow::Status::NotImplemented("a file of pieces has no position"); }

arrow::Result<Buffer> PieceFile::find(uint64_t position) const {
  // The last piece that begins at or before the position. Earlier pieces can reach it only if
  // pieces overlap.
  auto next = std::upper_bound(pieces_.begin(), pieces_.end(), position,
                               [](uint64_t offset, const TableFile::Piece& piece) { return offset < piece.offset; });
  while (next != pieces_.begin()) {
    const TableFile::Piece& piece = *--next;
    const uint64_t inside = position - piece.offset;
    if (inside < piece.bytes.size()) return piece.bytes.slice(inside, piece.bytes.size() - inside);
  }
  return arrow::Status::IOError("the bytes at ", position, " were not fetched");
}

arrow::Result<uint64_t> PieceFile::readable_bytes(int64_t position, int64_t nbytes) const {
  if (position < 0 || nbytes < 0) return arrow::Status::IOError("a read of ", nbytes, " bytes at ", position);
  const uint64_t left = file_size_ - std::min(file_size_, static_cast<uint64_t>(position));
  return std::min(static_cast<uint64_t>(nbytes), left);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> PieceFile::ReadAt(int64_t position, int64_t nbytes) {
  ARROW_ASSIGN_OR_RAISE(const uint64_t length, readable_bytes(position, nbytes));
  if (length == 0) return arrow_view({});
  ARROW_ASSIGN_OR_RAISE(const Buffer found, find(static_cast<uint64_t>(position)));
  if (found.size() >= length) return arrow_view(found.slice(0, length));
  auto joined = take_memory(length);
  // Arrow's status cannot carry the number of missing bytes, so callers of Arrow look at
  // Allowance::refusal() first.
  if (!joined.ok()) return arrow::Status::OutOfMemory(joined.status().message());
  ARROW_RETURN_NOT_OK(ReadAt(position, static_cast<int64_t>(length), joined->data()).status());
  return arrow_view(*joined);
}

arrow::Result<int64_t> PieceFile::ReadAt(int64_t position, int64_t nbytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const uint64_t length, readable_bytes(position, nbytes));
  for (uint64_t done = 0; done < length;) {
    ARROW_ASSIGN_OR_RAISE(const Buffer found, find(static_cast<uint64_t>(position) + done));
    const size_t part = std::min<uint64_t>(found.size(), length - done);
    std::memcpy(static_cast<uint8_t*>(out) + done, found.data(), part);
    done += part;
  }
  return static_cast<int64_t>(length);
}

}  // namespace forebay
