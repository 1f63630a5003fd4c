#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "forebay/result.h"

namespace forebay {

struct PackingOptions {
  int64_t length = 0;        ///< elements of a block
  int64_t open_blocks = 64;  ///< that a rest may still go into; the fullest is closed where there would be more
};

/// A part of a sequence, and where it stands in its block.
struct PackedPiece {
  int64_t sequence = 0;  ///< its number
  int64_t from = 0;      ///< its first element, of the sequence's
  int64_t count = 0;     ///< elements
  int64_t at = 0;        ///< in the block
  friend bool operator==(const PackedPiece&, const PackedPiece&) = default;
};

/// Sequences of different lengths side by side in blocks of one length. What of a sequence fills blocks has these to itself; the rest goes
/// into the first open block that has room for it, whole, in the order of the sequences (first-fit with a bounded number of open bins). So a
/// pure function of the lengths. Sequences of one group never share a block with those of another: a group is what is read together.
///
/// Memory: 12 bytes a sequence, 8 more for each block that a sequence fills, 8 a block.
class Packing {
 public:
  /// `groups`: how many sequences each has, in their order; empty: all are one group. InvalidArgument for a length or number of open blocks
  /// below 1, and for a length beyond 2^31 - 1; Unsupported for more than 2^32 - 1 sequences.
  static Result<Packing> make(std::vector<uint32_t> lengths, std::span<const int64_t> groups,
                              const PackingOptions& options);

  /// Blocks. A group's are numbered together, after those of the groups before it.
  int64_t size() const { return static_cast<int64_t>(first_.size()) - 1; }
  int64_t length() const { return length_; }
  /// Elements of all sequences: what is not padding.
  int64_t elements() const { return elements_; }
  /// Of all blocks.
  int64_t pieces() const { return static_cast<int64_t>(parts_.size()); }
  /// Appends what stands in a block, from its beginning on.
  void pieces(int64_t block, std::vector<PackedPiece>* out) const;
  /// How many blocks each group has.
  const std::vector<int64_t>& blocks_of_groups() const { return groups_; }
  std::span<const uint32_t> lengths() const { return lengths_; }
  uint64_t bytes() const;

 private:
  struct Part {
    uint32_t sequence = 0, number = 0;  // the number-th run of length_ elements of it
  };
  struct Placed {
    Part part;
    int64_t block = 0;
  };
  struct OpenBlock {
    int64_t block = 0, room = 0;
  };
  explicit Packing(std::vector<uint32_t> lengths, int64_t length) : lengths_(std::move(lengths)), length_(length) {}
  void pack(std::span<const int64_t> groups, int64_t open_blocks);
  static int64_t first_fit(std::vector<OpenBlock>& open, int64_t count, int64_t length, int64_t most, int64_t* blocks);
  void sort(const std::vector<Placed>& placed, int64_t blocks);

  std::vector<uint32_t> lengths_;
  int64_t length_;
  int64_t elements_ = 0;
  std::vector<Part> parts_;      // block by block
  std::vector<uint64_t> first_;  // of parts_, of each block; and their number
  std::vector<int64_t> groups_;
};

}  // namespace forebay
