#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forebay/result.h"

namespace forebay {

struct PackingOptions {
  int64_t length = 0;  ///< elements of a block
  /// Limit of blocks to which the rest of a sequence may still be added. The fullest one is closed
  /// if there would be more.
  int64_t open_blocks = 64;
};

/// A part of a sequence, at most as long as a block, and its place in a block.
struct PackedPiece {
  int64_t sequence = 0;  ///< number of the sequence
  int64_t from = 0;      ///< index of its first element in the sequence
  int64_t count = 0;     ///< in elements
  int64_t at = 0;        ///< offset in the block
  friend bool operator==(const PackedPiece&, const PackedPiece&) = default;
};

/// Packs sequences of different lengths into packed blocks, which have one length. Here, `block`
/// always means a packed block, never a block of chunks. The part of a sequence that
/// fills whole blocks gets those blocks alone. The rest goes as a whole into the first open block
/// that has space for it, in the order of the sequences (first-fit with a bounded number of open
/// bins). So the result is a pure function of the lengths. Sequences of different groups never
/// share a block; a group consists of the sequences that are read together. Immutable once made.
///
/// Memory: 12 bytes per sequence, 8 more for each block that a sequence fills, and 8 per block.
class Packing {
 public:
  /// `groups` holds the number of sequences of each group, in order; if empty, all form one group.
  /// InvalidArgument for a length or a number of open blocks below 1, and for a length above 2^31 -
  /// 1. Unsupported for more than 2^32 - 1 sequences.
  static Result<Packing> make(std::vector<uint32_t> lengths, std::span<const int64_t> groups,
                              const PackingOptions& options);

  /// Number of blocks. Those of a group are numbered consecutively, after those of earlier groups.
  int64_t size() const { return static_cast<int64_t>(first_piece_.size()) - 1; }
  int64_t length() const { return length_; }
  /// Elements of all sequences, without padding.
  int64_t elements() const { return elements_; }
  /// Number of pieces in all blocks.
  int64_t piece_count() const { return static_cast<int64_t>(pieces_.size()); }
  /// Appends the pieces of a block, from its beginning on.
  void pieces(int64_t block, std::vector<PackedPiece>* out) const;
  /// Number of blocks of each group.
  const std::vector<int64_t>& blocks_per_group() const { return blocks_per_group_; }
  std::span<const uint32_t> lengths() const { return lengths_; }
  uint64_t bytes() const;

 private:
  // A PackedPiece in 8 bytes: all but `index` follows from the lengths and the order in the block.
  struct StoredPiece {
    uint32_t sequence = 0;
    uint32_t index = 0;  // the piece begins at element index * length_ of the sequence
  };
  struct PlacedPiece {
    StoredPiece piece;
    int64_t block = 0;
  };
  explicit Packing(std::vector<uint32_t> lengths, int64_t length) : lengths_(std::move(lengths)), length_(length) {}
  void pack(std::span<const int64_t> groups, int64_t open_blocks);
  void group_by_block(const std::vector<PlacedPiece>& placed, int64_t blocks);

  std::vector<uint32_t> lengths_;
  int64_t length_;
  int64_t elements_ = 0;
  std::vector<StoredPiece> pieces_;    // by block
  std::vector<uint64_t> first_piece_;  // index in pieces_ of each block's first piece, then the total
  std::vector<int64_t> blocks_per_group_;
};

}  // namespace forebay
