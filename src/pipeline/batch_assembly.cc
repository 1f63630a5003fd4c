#include "pipeline/batch_assembly.h"

#include <algorithm>
#include <utility>

namespace forebay {

namespace {
// Copying a piece takes a tenth of a millisecond, many times what handing it to a thread takes.
constexpr uint64_t kPieceBytes = uint64_t{256} << 10;
// The number of pieces is bounded since each is a task, which takes the run's lock when it ends.
constexpr uint64_t kMaxPieces = 64;
}  // namespace

void BatchAssembly::add(Result<FieldJob> field) {
  if (!field.ok()) return fail(field.status());
  fields_.push_back(std::move(*field));
}

void BatchAssembly::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

uint64_t BatchAssembly::nbytes() const {
  uint64_t bytes = other_bytes_;
  for (const FieldJob& field : fields_) bytes += field.layout.nbytes(field.rows_of_field());
  return bytes;
}

namespace {

// Divides the rows of blocks into pieces of about `piece_bytes` bytes.
std::vector<CollationPiece> cut_blocks(const BatchAssembly::FieldJob& field, uint64_t piece_bytes) {
  const std::vector<BlockRow>& rows = *field.blocks->rows;
  const uint64_t item = dtype_size(field.layout.dtype);
  std::vector<CollationPiece> pieces(1);
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto piece_size = static_cast<uint64_t>(rows[row].begin - rows[pieces.back().begin].begin) * item;
    if (piece_size >= piece_bytes) pieces.push_back({row, row, 0, 0});
    pieces.back().end = row + 1;
  }
  return pieces;
}

void write_piece(BatchAssembly::FieldJob& field, const CollationPiece& piece) {
  const BatchAssembly::Blocks& blocks = *field.blocks;
  const size_t count = piece.end - piece.begin;
  write_blocks(blocks.field, blocks.type, std::span(*blocks.rows).subspan(piece.begin, count),
               field.rows.subspan(piece.begin, count), field.result.values.buffer.data());
}

}  // namespace

// Small fields share a piece, and large fields are divided into several.
void BatchAssembly::make_pieces() {
  const uint64_t piece_bytes = std::max(kPieceBytes, nbytes() / kMaxPieces);
  uint64_t bytes = 0;  // in the last piece
  pieces_.assign(1, {});
  for (size_t index = 0; index < fields_.size(); ++index) {
    const FieldJob& field = fields_[index];
    const std::vector<CollationPiece> cuts =
        field.blocks ? cut_blocks(field, piece_bytes) : cut(field.layout, field.rows, piece_bytes);
    for (const CollationPiece& rows : cuts) {
      if (bytes >= piece_bytes) {
        pieces_.emplace_back();
        bytes = 0;
      }
      pieces_.back().push_back({index, rows});
      // The average is enough: the exact size would need another pass over all rows.
      bytes += field.layout.nbytes(field.rows_of_field()) / cuts.size();
    }
  }
  left_ = pieces_.size();
}

bool BatchAssembly::copy(size_t piece) {
  for (const Piece& each : pieces_[piece]) {
    FieldJob& field = fields_[each.field];
    if (field.blocks) {
      write_piece(field, each.rows);
    } else {
      collate(field.layout, field.rows, each.rows, field.result);
    }
  }
  // Not relaxed, so that the last caller sees the bytes that the others have copied.
  return left_.fetch_sub(1) == 1;
}

}  // namespace forebay
