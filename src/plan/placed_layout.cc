#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "plan/block_layout.h"

namespace forebay {

namespace {

// Records for each piece, in the order of the sequences, the number of its block. Numbers fit into
// 32 bits, since Packing::make() bounds the pieces.
class BlockNumbers {
 public:
  BlockNumbers(const KeptLengths& kept, const PackingOptions& options) : kept_(kept), length_(options.length) {
    blocks_.reserve(kept.size());
  }
  int64_t blocks() const { return count_; }
  int64_t new_block() { return count_++; }
  const std::vector<uint32_t>& block_of_piece() const { return blocks_; }
  int64_t rest(size_t sequence) const { return kept_.count(sequence) % length_; }
  int64_t whole_blocks(size_t sequence) const { return kept_.count(sequence) / length_; }
  /// Numbers the blocks that the sequence fills alone. Returns the first one.
  int64_t take_whole_blocks(size_t sequence) { return std::exchange(count_, count_ + whole_blocks(sequence)); }
  /// The blocks of the next sequence: those that it fills, from `first` on, and that of its rest.
  void record(size_t sequence, int64_t first, int64_t of_rest) {
    for (int64_t i = 0; i < whole_blocks(sequence); ++i) blocks_.push_back(static_cast<uint32_t>(first + i));
    if (rest(sequence) > 0) blocks_.push_back(static_cast<uint32_t>(of_rest));
  }

 private:
  const KeptLengths& kept_;
  const int64_t length_;
  int64_t count_ = 0;
  std::vector<uint32_t> blocks_;
};

int64_t segment_limit(const PackingOptions& options) {
  return options.max_segments > 0 ? options.max_segments : std::numeric_limits<int64_t>::max();
}

// The further budgets of blocks.
class FurtherBudgets {
 public:
  explicit FurtherBudgets(std::span<const BlockLimit> limits) : limits_(limits) {}

  bool have_room(int64_t block, size_t sequence) const {
    for (size_t i = 0; i < limits_.size(); ++i)
      if (spent(block, i) + limits_[i].costs[sequence] > limits_[i].most) return false;
    return true;
  }
  void spend(int64_t block, size_t sequence) {
    const size_t first = static_cast<size_t>(block) * limits_.size();
    if (spent_.size() < first + limits_.size()) spent_.resize(first + limits_.size());
    for (size_t i = 0; i < limits_.size(); ++i) spent_[first + i] += limits_[i].costs[sequence];
  }
  /// The largest part of a budget that a sequence of so many elements takes alone, rounded up.
  int64_t largest_part(int64_t elements, int64_t length, size_t sequence) const {
    int64_t largest = part_of(elements, length, length - 1);
    for (const BlockLimit& limit : limits_)
      largest = std::max(largest, part_of(limit.costs[sequence], limit.most, limit.most - 1));
    return largest;
  }
  /// The smallest part of a budget that a block has left, rounded down. If it is not below the
  /// largest part of a sequence, the sequence fits.
  int64_t smallest_rest(int64_t space, int64_t length, int64_t block) const {
    int64_t smallest = part_of(space, length, 0);
    for (size_t i = 0; i < limits_.size(); ++i)
      smallest = std::min(smallest, part_of(limits_[i].most - spent(block, i), limits_[i].most, 0));
    return smallest;
  }
  bool any() const { return !limits_.empty(); }

 private:
  // In 2^-31. Costs are below 2^32, so the product is below 2^63.
  static int64_t part_of(int64_t cost, int64_t most, int64_t rounding) {
    return static_cast<int64_t>(((static_cast<uint64_t>(cost) << 31) + static_cast<uint64_t>(rounding)) /
                                static_cast<uint64_t>(most));
  }
  int64_t spent(int64_t block, size_t limit) const {
    const size_t at = static_cast<size_t>(block) * limits_.size() + limit;
    return at < spent_.size() ? spent_[at] : 0;
  }

  const std::span<const BlockLimit> limits_;
  std::vector<int64_t> spent_;  // by block, then by limit
};

// Assigns the rests of sequences to blocks: first fit among a bounded number of open blocks.
class FirstFit {
 public:
  FirstFit(const PackingOptions& options, FurtherBudgets& budgets)
      : length_(options.length), max_open_(options.open_blocks), max_segments_(segment_limit(options)),
        budgets_(budgets) {}

  /// Returns the first open block with space for so many elements of a sequence, or a new one. Takes
  /// the space.
  int64_t block_for(size_t sequence, int64_t elements, BlockNumbers& numbers) {
    auto found = std::find_if(open_.begin(), open_.end(), [&](const Open& one) {
      return one.space >= elements && budgets_.have_room(one.block, sequence);
    });
    if (found == open_.end()) {
      // Closes the fullest block, which wastes least. Among equals it is the oldest, because
      // min_element() returns the first.
      if (static_cast<int64_t>(open_.size()) == max_open_)
        open_.erase(std::min_element(open_.begin(), open_.end(),
                                     [](const Open& a, const Open& b) { return a.space < b.space; }));
      found = open_.insert(open_.end(), {numbers.new_block(), length_, 0});
    }
    const int64_t block = found->block;
    if (budgets_.any()) budgets_.spend(block, sequence);
    found->space -= elements;
    if (found->space == 0 || ++found->segments == max_segments_) open_.erase(found);
    return block;
  }

 private:
  struct Open {
    int64_t block = 0, space = 0, segments = 0;
  };
  const int64_t length_, max_open_, max_segments_;
  FurtherBudgets& budgets_;
  std::vector<Open> open_;
};

void first_fit(size_t begin, size_t end, const PackingOptions& options, FurtherBudgets& budgets,
               BlockNumbers& numbers) {
  FirstFit blocks(options, budgets);
  for (size_t sequence = begin; sequence < end; ++sequence) {
    // Full blocks are never open, because nothing else fits.
    const int64_t first = numbers.take_whole_blocks(sequence), rest = numbers.rest(sequence);
    numbers.record(sequence, first, rest > 0 ? blocks.block_for(sequence, rest, numbers) : 0);
  }
}

// Assigns the rests of sequences to blocks, of which all stay open: each goes into the fullest
// block that has space.
class BestFit {
 public:
  BestFit(const PackingOptions& options, FurtherBudgets& budgets)
      : length_(options.length), max_segments_(segment_limit(options)), budgets_(budgets) {}

  int64_t block_for(size_t sequence, int64_t elements, BlockNumbers& numbers) {
    if (budgets_.any()) return block_within_budgets(sequence, elements, numbers);
    const auto found = open_.lower_bound({elements, 0, 0});
    if (found == open_.end()) {
      const int64_t block = numbers.new_block();
      if (elements < length_ && max_segments_ > 1) open_.insert({length_ - elements, block, 1});
      return block;
    }
    auto node = open_.extract(found);  // is put back, so that nothing is allocated
    node.value().space -= elements;
    const Open now = node.value();
    if (++node.value().segments < max_segments_ && now.space > 0) open_.insert(std::move(node));
    return now.block;
  }

 private:
  struct Open {
    int64_t space = 0, block = 0, segments = 0;
    // Among blocks with the same space, the oldest comes first.
    bool operator<(const Open& other) const { return std::pair(space, block) < std::pair(other.space, other.block); }
  };
  // An open block by what is left of its scarcest budget.
  struct Roomy {
    int64_t room = 0;
    Open block;
    bool operator<(const Roomy& other) const {
      return std::pair(room, block.block) < std::pair(other.room, other.block.block);
    }
  };

  int64_t block_within_budgets(size_t sequence, int64_t elements, BlockNumbers& numbers) {
    const std::optional<Open> found = find_block(sequence, elements);
    Open now = found ? *found : Open{length_, numbers.new_block(), 0};
    if (found) {
      open_.erase(*found);
      by_room_.erase(roomy(*found));
    }
    now.space -= elements;
    ++now.segments;
    budgets_.spend(now.block, sequence);
    if (now.space > 0 && now.segments < max_segments_) {
      open_.insert(now);
      by_room_.insert(roomy(now));
    }
    return now.block;
  }

  // The fullest block with room, of the first ones with space. Many of these may lack the rest of
  // another budget. Then it is the block whose scarcest budget is the fullest that surely suffices.
  std::optional<Open> find_block(size_t sequence, int64_t elements) const {
    constexpr int kMostTried = 256;
    auto at = open_.lower_bound({elements, 0, 0});
    for (int tried = 0; at != open_.end() && tried < kMostTried; ++at, ++tried)
      if (budgets_.have_room(at->block, sequence)) return *at;
    if (at == open_.end()) return std::nullopt;
    const auto sure = by_room_.lower_bound({budgets_.largest_part(elements, length_, sequence), {}});
    return sure == by_room_.end() ? std::nullopt : std::optional(sure->block);
  }

  Roomy roomy(const Open& block) const { return {budgets_.smallest_rest(block.space, length_, block.block), block}; }

  const int64_t length_, max_segments_;
  FurtherBudgets& budgets_;
  std::set<Open> open_;
  std::set<Roomy> by_room_;  // the same blocks, if there are further budgets
};

// The largest rest first, by the budget of which it takes the largest part. So the small ones fill the
// gaps that the large ones leave.
void best_fit_decreasing(size_t begin, size_t end, const PackingOptions& options, FurtherBudgets& budgets,
                         BlockNumbers& numbers) {
  BestFit blocks(options, budgets);
  std::vector<int64_t> first(end - begin), of_rest(end - begin);
  std::vector<size_t> order;
  for (size_t sequence = begin; sequence < end; ++sequence) {
    first[sequence - begin] = numbers.take_whole_blocks(sequence);
    if (numbers.rest(sequence) > 0) order.push_back(sequence);
  }
  std::ranges::stable_sort(order, std::greater(), [&](size_t sequence) {
    const int64_t rest = numbers.rest(sequence);
    return budgets.any() ? budgets.largest_part(rest, options.length, sequence) : rest;
  });
  for (const size_t sequence : order)
    of_rest[sequence - begin] = blocks.block_for(sequence, numbers.rest(sequence), numbers);
  for (size_t sequence = begin; sequence < end; ++sequence)
    numbers.record(sequence, first[sequence - begin], of_rest[sequence - begin]);
}

void fill_group(size_t begin, size_t end, const PackingOptions& options, FurtherBudgets& budgets,
                BlockNumbers& numbers) {
  if (options.rule == PackingRule::kFirstFit) return first_fit(begin, end, options, budgets, numbers);
  const auto window = static_cast<size_t>(options.window);
  for (; begin < end; begin += std::min(window, end - begin))
    best_fit_decreasing(begin, begin + std::min(window, end - begin), options, budgets, numbers);
}

class PlacedLayout final : public BlockLayout {
 public:
  PlacedLayout(const KeptLengths& kept, std::span<const int64_t> groups, const PackingOptions& options,
               std::span<const BlockLimit> limits)
      : length_(options.length) {
    BlockNumbers numbers(kept, options);
    FurtherBudgets budgets(limits);
    size_t begin = 0;
    for (const int64_t group : groups) {
      const int64_t before = numbers.blocks();
      fill_group(begin, begin + static_cast<size_t>(group), options, budgets, numbers);
      begin += static_cast<size_t>(group);
      blocks_per_group_.push_back(numbers.blocks() - before);
    }
    group_by_block(kept, numbers);
  }

  int64_t piece_count() const override { return static_cast<int64_t>(pieces_.size()); }

  void pieces(const KeptLengths& kept, int64_t block, std::vector<PackedPiece>* out) const override {
    int64_t at = 0;
    for (uint64_t i = first_piece_[static_cast<size_t>(block)]; i < first_piece_[static_cast<size_t>(block) + 1]; ++i) {
      const StoredPiece& piece = pieces_[i];
      const int64_t from = piece.index * length_;
      const int64_t count = std::min(length_, kept.count(piece.sequence) - from);
      out->push_back({piece.sequence, kept.from(piece.sequence) + from, count, at});
      at += count;
    }
  }

  uint64_t bytes() const override {
    return pieces_.size() * sizeof(StoredPiece) + first_piece_.size() * sizeof(uint64_t);
  }

 private:
  // A PackedPiece in 8 bytes: all but `index` follows from the lengths and the order in the block.
  struct StoredPiece {
    uint32_t sequence = 0;
    uint32_t index = 0;  // the piece begins at element index * length_ of what is packed
  };

  // A counting sort: the pieces of a block stay in the order of their sequences.
  void group_by_block(const KeptLengths& kept, const BlockNumbers& numbers) {
    const std::vector<uint32_t>& blocks = numbers.block_of_piece();
    // The entry of a block counts up to the end of its pieces, which is where the next one's begin.
    first_piece_.assign(static_cast<size_t>(numbers.blocks()) + 2, 0);
    for (const uint32_t block : blocks) ++first_piece_[size_t{block} + 2];
    for (size_t i = 2; i < first_piece_.size(); ++i) first_piece_[i] += first_piece_[i - 1];
    pieces_.resize(blocks.size());
    size_t piece = 0;
    for (size_t sequence = 0; sequence < kept.size(); ++sequence) {
      const int64_t count = (kept.count(sequence) + length_ - 1) / length_;
      for (int64_t index = 0; index < count; ++index, ++piece)
        pieces_[first_piece_[size_t{blocks[piece]} + 1]++] = {static_cast<uint32_t>(sequence),
                                                              static_cast<uint32_t>(index)};
    }
    first_piece_.pop_back();
  }

  const int64_t length_;
  std::vector<StoredPiece> pieces_;    // by block
  std::vector<uint64_t> first_piece_;  // index in pieces_ of each block's first piece, then the total
};

}  // namespace

std::unique_ptr<const BlockLayout> placed_layout(const KeptLengths& kept, std::span<const int64_t> groups,
                                                 const PackingOptions& options, std::span<const BlockLimit> limits) {
  return std::make_unique<PlacedLayout>(kept, groups, options, limits);
}

}  // namespace forebay
