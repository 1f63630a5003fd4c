#include "pipeline/batch_assembly.h"

#include <algorithm>
#include <utility>

namespace forebay {

namespace {
constexpr uint64_t kPieceBytes = uint64_t{256}
                                 << 10;  // takes a tenth of a millisecond, many times what a hand-over takes
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
  for (const Part& part : parts_) bytes += part.layout.nbytes(part.rows.size());
  return bytes;
}

// Small fields share a piece, large ones are cut.
void BatchAssembly::cut_up() {
  const uint64_t piece_bytes = std::max(kPieceBytes, nbytes() / kMostPieces);
  uint64_t bytes = 0;  // in the last piece
  pieces_.assign(1, {});
  for (size_t part = 0; part < parts_.size(); ++part) {
    const Part& of = parts_[part];
    const std::vector<CollationPiece> cuts = cut(of.layout, of.rows, piece_bytes);
    for (const CollationPiece& rows : cuts) {
      if (bytes >= piece_bytes) {
        pieces_.emplace_back();
        bytes = 0;
      }
      pieces_.back().push_back({part, rows});
      bytes += of.layout.nbytes(of.rows.size()) / cuts.size();
    }
  }
  left_ = pieces_.size();
}

bool BatchAssembly::copy(size_t piece) {
  for (const Piece& each : pieces_[piece]) {
    Part& part = parts_[each.part];
    collate(part.layout, part.rows, each.rows, part.field);
  }
  return left_.fetch_sub(1) == 1;
}

}  // namespace forebay
