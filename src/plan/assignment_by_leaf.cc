#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "plan/node.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

// A global batch, divided leaf by leaf. Repeats count as one more leaf, which is the last.
class DividedBatch {
 public:
  DividedBatch(const PlanNode& plan, const std::vector<int64_t>& lanes, const GlobalBatch& batch)
      : ranks_(batch.world_size), begins_(lanes.size() + 2), keys_(static_cast<size_t>(batch.slots)) {
    std::vector<uint32_t> leaves(keys_.size(), static_cast<uint32_t>(lanes.size()));
    std::vector<uint64_t> keys(keys_.size());
    std::array<Draw, 256> draws;
    for (int64_t slot = 0; slot < batch.slots; ++slot) {
      const auto at = static_cast<size_t>(slot), in_piece = at % draws.size();
      if (slot < batch.samples) {
        if (in_piece == 0)
          plan.draws(batch.epoch, batch.position + slot,
                     std::span(draws).first(std::min(draws.size(), static_cast<size_t>(batch.samples) - at)),
                     DrawPart::kPlace);
        const auto leaf = static_cast<size_t>(draws[in_piece].leaf);
        leaves[at] = static_cast<uint32_t>(leaf);
        keys[at] = static_cast<uint64_t>(draws[in_piece].place % lanes[leaf]) << 32;
      }
      keys[at] |= at;
      ++begins_[leaves[at] + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<int64_t> next(begins_.begin(), begins_.end());
    for (size_t at = 0; at < keys.size(); ++at) keys_[static_cast<size_t>(next[leaves[at]]++)] = keys[at];
  }

  // The rank's slots, ascending.
  void slots_of(int64_t rank, std::vector<int64_t>* out) {
    // Only the rank's run of each leaf has to be in order, which takes less time than to sort.
    for_each_run(rank, [&](auto leaf_begin, auto begin, auto end, auto leaf_end) {
      if (begin == end) return;
      std::nth_element(leaf_begin, begin, leaf_end);
      if (end != leaf_end) std::nth_element(begin, end, leaf_end);
    });
    append(rank, out);
  }

  void sort() {
    for (size_t leaf = 0; leaf + 1 < begins_.size(); ++leaf)
      std::sort(keys_.begin() + begins_[leaf], keys_.begin() + begins_[leaf + 1]);
  }

  // Appends the rank's slots, ascending. The rank's runs must be in order.
  void append(int64_t rank, std::vector<int64_t>* out) {
    const auto first = static_cast<std::ptrdiff_t>(out->size());
    for_each_run(rank, [&](auto, auto begin, auto end, auto) {
      for (auto key = begin; key != end; ++key) out->push_back(static_cast<int64_t>(*key & UINT32_MAX));
    });
    std::sort(out->begin() + first, out->end());
  }

 private:
  // Each leaf is cut into runs whose lengths differ by at most one. The longer runs of a leaf go to
  // the ranks after those that had the last longer ones, so that all ranks get as many slots as by
  // count.
  template <typename Run>
  void for_each_run(int64_t rank, const Run& run) {
    int64_t next = 0;  // the rank that gets the next longer run
    for (size_t leaf = 0; leaf + 1 < begins_.size(); ++leaf) {
      const int64_t count = begins_[leaf + 1] - begins_[leaf];
      const int64_t share = count / ranks_, longer = count % ranks_;
      // Longer runs of ranks below this one: those in [next, next + longer), and those that
      // wrapped.
      const auto longer_below = [&](int64_t below) {
        return std::clamp<int64_t>(below - next, 0, longer) + std::clamp<int64_t>(next + longer - ranks_, 0, below);
      };
      const auto begin = keys_.begin() + begins_[leaf] + rank * share + longer_below(rank);
      const int64_t length = share + longer_below(rank + 1) - longer_below(rank);
      run(keys_.begin() + begins_[leaf], begin, begin + length, keys_.begin() + begins_[leaf + 1]);
      next = (next + longer) % ranks_;
    }
  }

  const int64_t ranks_;
  std::vector<int64_t> begins_;  // index in keys_ of the first key of each leaf; then their number
  std::vector<uint64_t> keys_;   // leaf by leaf: lane << 32 | slot
};

class AssignmentByLeaf final : public ShardAssignment {
 public:
  AssignmentByLeaf(std::shared_ptr<const PlanNode> plan, std::vector<int64_t> lanes)
      : plan_(std::move(plan)), lanes_(std::move(lanes)) {}

  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    out->clear();
    DividedBatch(*plan_, lanes_, batch).slots_of(rank, out);
  }

  void all(const GlobalBatch& batch, AssignedBatch* out) const override {
    DividedBatch divided(*plan_, lanes_, batch);
    divided.sort();
    out->slots.clear();
    out->begins.assign(1, 0);
    for (int64_t rank = 0; rank < batch.world_size; ++rank) {
      divided.append(rank, &out->slots);
      out->begins.push_back(static_cast<int64_t>(out->slots.size()));
    }
  }

 private:
  const std::shared_ptr<const PlanNode> plan_;
  const std::vector<int64_t> lanes_;
};

}  // namespace

std::shared_ptr<const ShardAssignment> assignment_by_leaf(std::shared_ptr<const PlanNode> plan,
                                                          std::vector<int64_t> lanes) {
  return std::make_shared<const AssignmentByLeaf>(std::move(plan), std::move(lanes));
}

}  // namespace forebay
