#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace forebay {

/// The treatment of a sequence that is longer than a block.
enum class LongSequence : uint8_t {
  kSplit,  ///< it goes on in further blocks
  kLeft,   ///< it is cut at its left side: its last elements stay
  kRight,  ///< it is cut at its right side: its first elements stay
  kDrop,   ///< it is left out
};

/// Number of sequences that are longer than a block.
inline int64_t count_longer(std::span<const uint32_t> lengths, int64_t block_length) {
  return std::ranges::count_if(lengths, [=](uint32_t length) { return length > block_length; });
}

/// The lengths of sequences, and the part of each that is packed. Immutable. 4 bytes per sequence.
class KeptLengths {
 public:
  KeptLengths(std::vector<uint32_t> lengths, int64_t block_length, LongSequence rule)
      : lengths_(std::move(lengths)), block_length_(block_length), rule_(rule) {}

  size_t size() const { return lengths_.size(); }
  std::span<const uint32_t> lengths() const { return lengths_; }
  /// Number of elements that are packed.
  int64_t count(size_t sequence) const {
    const int64_t length = lengths_[sequence];
    if (length <= block_length_ || rule_ == LongSequence::kSplit) return length;
    return rule_ == LongSequence::kDrop ? 0 : block_length_;
  }
  /// Index in the sequence of the first element that is packed.
  int64_t from(size_t sequence) const {
    return rule_ == LongSequence::kLeft ? lengths_[sequence] - count(sequence) : 0;
  }
  uint64_t bytes() const { return lengths_.size() * sizeof(uint32_t); }

 private:
  std::vector<uint32_t> lengths_;
  int64_t block_length_;
  LongSequence rule_;
};

}  // namespace forebay
