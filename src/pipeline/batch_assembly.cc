#include "pipeline/batch_assembly.h"

#include <algorithm>
#include <utility>

namespace forebay {

namespace {
// Copying a piece takes a tenth of a millisecond, many times what handing it to a thread takes.
constexpr uint64_t kPieceBytes = uint64_t{256} << 10;
// The number of pieces is bounded since each is a task, which takes the run's lock when it ends.
constexpr uint64_t kMostPieces = 64;
}  // namespace

void BatchAssembly::add(Result<Part> part) {
  if (!part.ok()) return fail(part.status());
  parts_.push_back(std::move(*part));
}

void BatchAssembly::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

uint64_t BatchAssembly::nbytes() const {
  uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.layout.nbytes(part.rows_of_field());
  return bytes;
}

namespace {

// Divides the rows of blocks into pieces of about `piece_bytes` bytes.
std::vector<CollationPiece> cut_blocks(const BatchAssembly::Part& part, uint64_t piece_bytes) {
  const std::vector<BlockRow>& rows = *part.blocks->rows;
  const uint64_t item = dtype_size(part.layout.dtype);
  std::vector<CollationPiece> pieces(1);
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto begun = static_cast<uint64_t>(rows[row].begin - rows[pieces.back().begin].begin) * item;
    if (begun >= piece_bytes) pieces.push_back({row, row, 0, 0});
    pieces.back().end = row + 1;
  }
  return pieces;
}

void write_piece(BatchAssembly::Part& part, const CollationPiece& piece) {
  const BatchAssembly::Blocks& blocks = *part.blocks;
  const size_t count = piece.end - piece.begin;
  write_blocks(blocks.value, blocks.type, blocks.pad, std::span(*blocks.rows).subspan(piece.begin, count),
               part.rows.subspan(piece.begin, count), part.field.values.buffer.data());
}

}  // namespace

// Small fields share a piece, and large fields are divided into several.
void BatchAssembly::make_pieces() {
  const uint64_t piece_bytes = std::max(kPieceBytes, nbytes() / kMostPieces);
  uint64_t bytes = 0;  // in the last piece
  pieces_.assign(1, {});
  for (size_t part = 0; part < parts_.size(); ++part) {
    const Part& of = parts_[part];
    const std::vector<CollationPiece> cuts =
        of.blocks ? cut_blocks(of, piece_bytes) : cut(of.layout, of.rows, piece_bytes);
    for (const CollationPiece& rows : cuts) {
      if (bytes >= piece_bytes) {
        pieces_.emplace_back();
        bytes = 0;
      }
      pieces_.back().push_back({part, rows});
      // The average is enough: the exact size would need another pass over all rows.
      bytes += of.layout.nbytes(of.rows_of_field()) / cuts.size();
    }
  }
  left_ = pieces_.size();
}

bool BatchAssembly::copy(size_t piece) {
  for (const Piece& each : pieces_[piece]) {
    Part& part = parts_[each.part];
    if (part.blocks) {
      write_piece(part, each.rows);
    } else {
      collate(part.layout, part.rows, each.rows, part.field);
    }
  }
  // Not relaxed, so that the last caller sees the bytes that the others have copied.
  return left_.fetch_sub(1) == 1;
}

}  // namespace forebay
