#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "plan/numbering.h"
#include "plan/windowed_node.h"

namespace forebay {
namespace {

// (value × factor + more) / divisor, rounded down and up. The result is below 2^62.
int64_t scaled_down(int64_t value, int64_t factor, int64_t more, int64_t divisor) {
  const auto product = static_cast<__int128>(value) * factor + more;
  return static_cast<int64_t>(static_cast<unsigned __int128>(product) / static_cast<uint64_t>(divisor));
}
int64_t scaled_up(int64_t value, int64_t factor, int64_t more, int64_t divisor) {
  return scaled_down(value, factor, more + divisor - 1, divisor);
}

// The draws of an epoch are split among the two halves of the children, those of each half among
// its halves, and so on. Of the first p draws of a range, ⌊(p × left + phase) / all⌋ go to its left
// half, where `left` and `all` are draws of an epoch, and the phase is drawn from [0, all) for each
// epoch. So after `all` draws both halves have made theirs, and each split adds less than one to
// the distance from the share. With a constant phase, the sample of a small child would come in the
// same window of every epoch.
class UnionCounts final : public WindowCounts {
 public:
  UnionCounts(const std::vector<std::unique_ptr<PlanNode>>& children, const PermutationKey& phases)
      : begins_{0}, epochs_(0), phases_(phases) {
    begins_.reserve(children.size() + 1);
    for (const auto& child : children) begins_.push_back(begins_.back() + child->size());
    epochs_ = Numbering(begins_.back());
  }

  int64_t size() const { return begins_.back(); }

  // Each epoch has windows of its own.
  Window window_holding(int64_t position) const override {
    const Order::Use use = epochs_.use_of(position);
    const int64_t begin = position - use.position % kSize;
    const int64_t end = std::min(begin + kSize, position - use.position + size());
    return {begin, end, end};
  }

  std::vector<Part> parts(const Window& window) const override {
    const Order::Use use = epochs_.use_of(window.begin);
    std::vector<Part> parts;
    if (size() > 0)
      add_parts({use.epoch, phases_.child(use.epoch)}, {0, begins_.size() - 1}, use.position,
                use.position + window.end - window.begin, &parts);
    return parts;
  }

  int64_t draws_before(size_t child, const Window& window) const override {
    const Order::Use use = epochs_.use_of(window.begin);
    const Epoch epoch{use.epoch, phases_.child(use.epoch)};
    int64_t draws = use.position;
    for (Range range{0, begins_.size() - 1}; range.count() > 1;) {
      const Range left = range.left(), right = range.right();
      const int64_t to_left = split(epoch, range, draws);
      draws = child < left.end ? to_left : draws - to_left;
      range = child < left.end ? left : right;
    }
    return use.epoch * size_of({child, child + 1}) + draws;
  }

  // Inverts the splits from the child up to all children.
  int64_t position_near(size_t child, int64_t draw) const override {
    const int64_t child_size = size_of({child, child + 1});
    const Epoch epoch{draw / child_size, phases_.child(draw / child_size)};
    std::array<Range, 64> path;
    size_t depth = 0;
    for (Range range{0, begins_.size() - 1}; range.count() > 1; range = range.half_with(child)) path[depth++] = range;
    int64_t place = draw % child_size;
    while (depth > 0) {
      const Range range = path[--depth];
      const int64_t all = size_of(range), phase = phase_of(epoch, range);
      // The left half makes its draw k at the first p with (p + 1) × left + phase ≥ (k + 1) × all,
      // and the right half at the first p with (p + 1) × right > k × all + phase.
      place = child < range.left().end ? scaled_up(place + 1, all, -phase, size_of(range.left())) - 1
                                       : scaled_down(place, all, phase, size_of(range.right()));
    }
    return epochs_.number_of({epoch.number, place});
  }

 private:
  // The children [begin, end).
  struct Range {
    size_t begin = 0, end = 0;
    size_t count() const { return end - begin; }
    Range left() const { return {begin, begin + count() / 2}; }
    Range right() const { return {begin + count() / 2, end}; }
    Range half_with(size_t child) const { return child < left().end ? left() : right(); }
  };
  struct Epoch {
    int64_t number = 0;
    PermutationKey phases;
  };

  int64_t size_of(const Range& range) const { return begins_[range.end] - begins_[range.begin]; }
  int64_t phase_of(const Epoch& epoch, const Range& range) const {
    const uint64_t draw = PermutationKey::mix(epoch.phases.a + range.left().end * epoch.phases.b);
    return static_cast<int64_t>(static_cast<unsigned __int128>(draw) * static_cast<uint64_t>(size_of(range)) >> 64);
  }
  // The number of draws of the left half among the first draws of the range.
  int64_t split(const Epoch& epoch, const Range& range, int64_t draws) const {
    return draws == 0 ? 0 : scaled_down(draws, size_of(range.left()), phase_of(epoch, range), size_of(range));
  }

  void add_parts(const Epoch& epoch, const Range& range, int64_t from, int64_t to, std::vector<Part>* parts) const {
    if (from == to) return;
    if (range.count() == 1) {
      parts->push_back({range.begin, epoch.number * size_of(range) + from, to - from});
      return;
    }
    const int64_t left_from = split(epoch, range, from), left_to = split(epoch, range, to);
    add_parts(epoch, range.left(), left_from, left_to, parts);
    add_parts(epoch, range.right(), from - left_from, to - left_to, parts);
  }

  std::vector<int64_t> begins_;  // draws of an epoch of all children before each; then of all
  Numbering epochs_;
  PermutationKey phases_;
};

}  // namespace

std::unique_ptr<PlanNode> shuffled_union_node(std::vector<std::unique_ptr<PlanNode>> children, uint64_t seed) {
  const PermutationKey root = PermutationKey::root(seed, PermutationKey::Use::kUnionWindow);
  // Windows have the keys of their first positions, which are not negative.
  auto counts = std::make_unique<UnionCounts>(children, root.child(-1));
  const int64_t size = counts->size();
  return std::make_unique<WindowedNode>(std::move(children), std::move(counts), root, size);
}

}  // namespace forebay
