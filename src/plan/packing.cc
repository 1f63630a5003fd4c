#include "plan/packing.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

/// Numbers blocks, and assigns the rests of sequences to them: first fit among a bounded number of
/// open blocks.
class BlockNumbers {
 public:
  BlockNumbers(int64_t length, int64_t max_open) : length_(length), max_open_(max_open) {}

  int64_t count() const { return count_; }
  int64_t new_block() { return count_++; }
  /// Returns the first open block with space for so many elements, or a new one. Takes the space.
  int64_t block_for(int64_t elements) {
    auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& one) { return one.space >= elements; });
    if (found == open_.end()) {
      // Closes the fullest block, which wastes least. Among equals it is the oldest, because
      // min_element() returns the first.
      if (static_cast<int64_t>(open_.size()) == max_open_)
        open_.erase(std::min_element(open_.begin(), open_.end(),
                                     [](const Open& a, const Open& b) { return a.space < b.space; }));
      found = open_.insert(open_.end(), {new_block(), length_});
    }
    const int64_t block = found->block;
    found->space -= elements;
    if (found->space == 0) open_.erase(found);
    return block;
  }
  void close_all() { open_.clear(); }

 private:
  struct Open {
    int64_t block = 0, space = 0;
  };
  const int64_t length_, max_open_;
  int64_t count_ = 0;
  std::vector<Open> open_;
};

}  // namespace

Result<Packing> Packing::make(std::vector<uint32_t> lengths, std::span<const int64_t> groups,
                              const PackingOptions& options) {
  // Offsets within a block are int32 in batches. The limit also keeps a piece's index times the
  // length within 63 bits.
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (options.length < 1 || options.length > kMost)
    return invalid_argument(fmt::format("blocks of {} elements cannot be packed; give 1 to {}", options.length, kMost));
  if (options.open_blocks < 1)
    return invalid_argument(fmt::format("open_blocks={}: give at least 1", options.open_blocks));
  if (lengths.size() > UINT32_MAX)
    return Status(Code::kUnsupported,
                  fmt::format("{} sequences are to be packed, and 2^32 - 1 is the most; pack parts of the data set",
                              lengths.size()));
  Packing packing(std::move(lengths), options.length);
  const int64_t all = static_cast<int64_t>(packing.lengths_.size());
  packing.pack(groups.empty() ? std::span<const int64_t>(&all, 1) : groups, options.open_blocks);
  return packing;
}

void Packing::pack(std::span<const int64_t> groups, int64_t open_blocks) {
  std::vector<PlacedPiece> placed;
  placed.reserve(lengths_.size());
  BlockNumbers blocks(length_, open_blocks);
  uint32_t sequence = 0;
  for (const int64_t group : groups) {
    const int64_t before = blocks.count();
    blocks.close_all();
    for (int64_t i = 0; i < group; ++i, ++sequence) {
      int64_t left = lengths_[sequence];
      elements_ += left;
      uint32_t index = 0;
      // Full blocks are never open, because nothing else fits.
      for (; left >= length_; left -= length_) placed.push_back({{sequence, index++}, blocks.new_block()});
      if (left > 0) placed.push_back({{sequence, index}, blocks.block_for(left)});
    }
    blocks_per_group_.push_back(blocks.count() - before);
  }
  group_by_block(placed, blocks.count());
}

// A counting sort: the pieces of a block stay in the order of their sequences.
void Packing::group_by_block(const std::vector<PlacedPiece>& placed, int64_t blocks) {
  first_piece_.assign(static_cast<size_t>(blocks) + 1, 0);
  for (const PlacedPiece& one : placed) ++first_piece_[static_cast<size_t>(one.block) + 1];
  for (size_t i = 1; i < first_piece_.size(); ++i) first_piece_[i] += first_piece_[i - 1];
  std::vector<uint64_t> next(first_piece_.begin(), first_piece_.end() - 1);
  pieces_.resize(placed.size());
  for (const PlacedPiece& one : placed) pieces_[next[static_cast<size_t>(one.block)]++] = one.piece;
}

void Packing::pieces(int64_t block, std::vector<PackedPiece>* out) const {
  int64_t at = 0;
  for (uint64_t i = first_piece_[static_cast<size_t>(block)]; i < first_piece_[static_cast<size_t>(block) + 1]; ++i) {
    const StoredPiece& piece = pieces_[i];
    const int64_t from = piece.index * length_;
    const int64_t count = std::min(length_, lengths_[piece.sequence] - from);
    out->push_back({piece.sequence, from, count, at});
    at += count;
  }
}

uint64_t Packing::bytes() const {
  return lengths_.size() * sizeof(uint32_t) + pieces_.size() * sizeof(StoredPiece) +
         first_piece_.size() * sizeof(uint64_t);
}

}  // namespace forebay
