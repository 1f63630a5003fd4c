#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "forebay/result.h"
#include "plan/kept_lengths.h"

namespace forebay {

class BlockLayout;

/// The rule by which sequences are put into blocks.
enum class PackingRule : uint8_t {
  /// In the order of the sequences, each into the first open block that has space for it. The
  /// number of open blocks is bounded.
  kFirstFit,
  /// The longest of a window of sequences first, each into the fullest block that has space for it
  /// (best-fit decreasing).
  kBestFit,
  /// One after another, cut every `length` elements. Only the last block of a group has padding.
  kCut,
};

struct PackingOptions {
  int64_t length = 0;  ///< elements of a block
  /// kFirstFit: limit of blocks to which the rest of a sequence may still be added. The fullest one
  /// is closed if there would be more.
  int64_t open_blocks = 64;
  PackingRule rule = PackingRule::kFirstFit;
  LongSequence too_long = LongSequence::kSplit;
  int64_t window = 65'536;   ///< kBestFit: sequences that share blocks
  int64_t max_segments = 0;  ///< sequences in a block at most; 0: any number. Not with kCut.
};

/// A further budget of a block, beside its length: what all of its sequences cost together. Sequences
/// are not split then.
struct BlockLimit {
  int64_t most = 0;
  std::vector<uint32_t> costs;  ///< of each sequence, at most `most`
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
/// always means a packed block, never a block of chunks. By first-fit and best-fit, the part of a
/// sequence that fills whole blocks gets those blocks alone, and the rest goes as a whole into a
/// block that has space for it. So the result is a pure function of the lengths. Sequences of
/// different groups never share a block; a group consists of the sequences that are read together.
/// Immutable once made.
///
/// Memory: 4 bytes per sequence. First-fit and best-fit take 8 more for each piece and 8 per block,
/// and 4 more for each piece while they are made. kCut takes 8 per 64 sequences.
class Packing {
 public:
  /// `groups` holds the number of sequences of each group, in order; if empty, all form one group.
  /// InvalidArgument for a length, a window or a number of open blocks below 1, for a length above
  /// 2^31 - 1, for a limit of segments with kCut, and for limits with kCut or LongSequence::kSplit, or
  /// that a sequence exceeds alone. Unsupported for more than 2^32 - 1 sequences
  /// or pieces.
  static Result<Packing> make(std::vector<uint32_t> lengths, std::span<const int64_t> groups,
                              const PackingOptions& options, std::span<const BlockLimit> limits = {});
  ~Packing();
  Packing(Packing&&) noexcept;
  Packing& operator=(Packing&&) noexcept;

  /// Number of blocks. Those of a group are numbered consecutively, after those of earlier groups.
  int64_t size() const { return size_; }
  int64_t length() const { return length_; }
  /// Elements of all blocks, without padding.
  int64_t elements() const { return elements_; }
  /// Number of pieces in all blocks.
  int64_t piece_count() const;
  /// Appends the pieces of a block, from its beginning on.
  void pieces(int64_t block, std::vector<PackedPiece>* out) const;
  /// Number of blocks of each group.
  const std::vector<int64_t>& blocks_per_group() const;
  /// The lengths of the sequences, also of those of which a part or nothing is packed.
  std::span<const uint32_t> lengths() const { return kept_.lengths(); }
  uint64_t bytes() const;

 private:
  Packing(KeptLengths kept, int64_t length);

  KeptLengths kept_;
  int64_t length_;
  int64_t size_ = 0, elements_ = 0;
  std::unique_ptr<const BlockLayout> layout_;
};

}  // namespace forebay
