#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay {

/// A hash table from pairs of tokens to the merged token and its rank. Immutable once filled; any
/// thread may then use it.
class MergeTable {
 public:
  static constexpr uint32_t kNoMerge = UINT32_MAX;
  struct Merge {
    uint32_t rank = kNoMerge;
    int32_t made = 0;
  };

  explicit MergeTable(size_t merges);
  /// If a pair is added twice, the last merge counts.
  void add(int32_t left, int32_t right, Merge merge);
  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = first_slot(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].merge;
      if (slots_[at].key == kEmpty) return {};
    }
  }

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t first_slot(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15;
    return static_cast<size_t>(key ^ key >> 32) & mask_;
  }
  std::vector<Slot> slots_;
  size_t mask_;
};

/// Merges adjacent pairs in `tokens` until none is left: the pair of the lowest rank first, and of
/// equal ranks the first one. Takes at most n log n time.
void merge_tokens(const MergeTable& table, std::vector<int32_t>& tokens);

}  // namespace forebay
