#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/kept_lengths.h"
#include "plan/packing.h"

namespace forebay {

/// Says which pieces of which sequences stand in a packed block. A rule of packing is one
/// implementation. Immutable. A Packing owns it together with the lengths, which it passes in.
class BlockLayout {
 public:
  virtual ~BlockLayout() = default;
  /// Number of blocks of each group of sequences.
  const std::vector<int64_t>& blocks_per_group() const { return blocks_per_group_; }
  virtual int64_t piece_count() const = 0;
  /// Appends the pieces of a block, from its beginning on.
  virtual void pieces(const KeptLengths& kept, int64_t block, std::vector<PackedPiece>* out) const = 0;
  virtual uint64_t bytes() const = 0;

 protected:
  std::vector<int64_t> blocks_per_group_;
};

/// Whole sequences in blocks, by first-fit or best-fit. Stores 8 bytes per piece and per block.
std::unique_ptr<const BlockLayout> placed_layout(const KeptLengths& kept, std::span<const int64_t> groups,
                                                 const PackingOptions& options, std::span<const BlockLimit> limits);
/// The sequences of a group one after another, cut every `length` elements. Stores a sum for every
/// 64 sequences, and finds the pieces of a block by binary search.
std::unique_ptr<const BlockLayout> cut_layout(const KeptLengths& kept, std::span<const int64_t> groups, int64_t length);

}  // namespace forebay
