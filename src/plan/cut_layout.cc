#include <algorithm>

#include "plan/block_layout.h"

namespace forebay {

namespace {

class CutLayout final : public BlockLayout {
 public:
  CutLayout(const KeptLengths& kept, std::span<const int64_t> groups, int64_t length) : length_(length) {
    sums_.reserve(kept.size() / kSequences + 1);
    int64_t elements = 0, blocks = 0;
    size_t sequence = 0;
    for (const int64_t group : groups) {
      first_block_.push_back(blocks);
      first_element_.push_back(elements);
      for (const size_t end = sequence + static_cast<size_t>(group); sequence < end; ++sequence) {
        if (sequence % kSequences == 0) sums_.push_back(elements);
        const int64_t at = elements - first_element_.back(), count = kept.count(sequence);
        if (count > 0) piece_count_ += (at + count - 1) / length - at / length + 1;
        elements += count;
      }
      blocks_per_group_.push_back((elements - first_element_.back() + length - 1) / length);
      blocks += blocks_per_group_.back();
    }
    first_block_.push_back(blocks);
    first_element_.push_back(elements);
  }

  int64_t piece_count() const override { return piece_count_; }

  void pieces(const KeptLengths& kept, int64_t block, std::vector<PackedPiece>* out) const override {
    const auto group = static_cast<size_t>(std::ranges::upper_bound(first_block_, block) - first_block_.begin() - 1);
    const int64_t begin = first_element_[group] + (block - first_block_[group]) * length_;
    const int64_t end = std::min(begin + length_, first_element_[group + 1]);
    const auto sum = static_cast<size_t>(std::ranges::upper_bound(sums_, begin) - sums_.begin() - 1);
    size_t sequence = sum * kSequences;
    int64_t first = sums_[sum];  // number of the sequence's first element
    while (first + kept.count(sequence) <= begin) first += kept.count(sequence++);
    for (int64_t at = begin; at < end; first += kept.count(sequence++)) {
      const int64_t count = std::min(end, first + kept.count(sequence)) - at;
      if (count == 0) continue;
      out->push_back({static_cast<int64_t>(sequence), kept.from(sequence) + at - first, count, at - begin});
      at += count;
    }
  }

  uint64_t bytes() const override {
    return (sums_.size() + first_block_.size() + first_element_.size()) * sizeof(int64_t);
  }

 private:
  static constexpr size_t kSequences = 64;  // from one stored sum to the next
  const int64_t length_;
  int64_t piece_count_ = 0;
  std::vector<int64_t> sums_;                         // elements before every 64th sequence
  std::vector<int64_t> first_block_, first_element_;  // of each group, then the totals
};

}  // namespace

std::unique_ptr<const BlockLayout> cut_layout(const KeptLengths& kept, std::span<const int64_t> groups,
                                              int64_t length) {
  return std::make_unique<CutLayout>(kept, groups, length);
}

}  // namespace forebay
