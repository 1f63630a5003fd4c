#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/node.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

// A global batch, divided leaf by leaf. Repeats count as one more leaf, which is the last.
class DividedBatch {
 public:
  DividedBatch(const PlanNode& plan, const std::vector<int64_t>& lanes, const GlobalBatch& batch)
      : ranks_(batch.world_size) {
    std::vector<Draw> draws(static_cast<size_t>(batch.samples));
    plan.draws(batch.epoch, batch.position, draws);
    std::vector<std::pair<int64_t, int64_t>> keys;  // leaf and lane of each slot
    for (const Draw& draw : draws) keys.emplace_back(draw.leaf, draw.place % lanes[static_cast<size_t>(draw.leaf)]);
    keys.resize(static_cast<size_t>(batch.slots), {static_cast<int64_t>(lanes.size()), 0});
    slots_.resize(keys.size());
    std::iota(slots_.begin(), slots_.end(), 0);
    std::ranges::stable_sort(slots_, {}, [&](int64_t slot) { return keys[static_cast<size_t>(slot)]; });
    for (size_t i = 0; i < slots_.size(); ++i) {
      const int64_t leaf = keys[static_cast<size_t>(slots_[i])].first;
      if (i == 0 || keys[static_cast<size_t>(slots_[i - 1])].first != leaf) begins_.push_back(static_cast<int64_t>(i));
    }
    begins_.push_back(batch.slots);
  }

  // Appends the rank's slots, ascending. Each leaf is cut into runs whose lengths differ by at most
  // one. The longer runs of a leaf go to the ranks after those that had the last longer ones, so
  // that all ranks get as many slots as by count.
  void append(int64_t rank, std::vector<int64_t>* out) const {
    const auto first = static_cast<std::ptrdiff_t>(out->size());
    int64_t next = 0;  // the rank that gets the next longer run
    for (size_t leaf = 0; leaf + 1 < begins_.size(); ++leaf) {
      const int64_t count = begins_[leaf + 1] - begins_[leaf];
      const int64_t share = count / ranks_, longer = count % ranks_;
      // Longer runs of ranks below this one: those in [next, next + longer), and those that
      // wrapped.
      const auto longer_below = [&](int64_t below) {
        return std::clamp<int64_t>(below - next, 0, longer) + std::clamp<int64_t>(next + longer - ranks_, 0, below);
      };
      const int64_t begin = begins_[leaf] + rank * share + longer_below(rank);
      const int64_t length = share + longer_below(rank + 1) - longer_below(rank);
      out->insert(out->end(), slots_.begin() + begin, slots_.begin() + begin + length);
      next = (next + longer) % ranks_;
    }
    std::sort(out->begin() + first, out->end());
  }

 private:
  const int64_t ranks_;
  std::vector<int64_t> slots_;   // by leaf and lane
  std::vector<int64_t> begins_;  // first of each leaf in slots_; then their number
};

class AssignmentByLeaf final : public ShardAssignment {
 public:
  AssignmentByLeaf(std::shared_ptr<const PlanNode> plan, std::vector<int64_t> lanes)
      : plan_(std::move(plan)), lanes_(std::move(lanes)) {}

  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    out->clear();
    DividedBatch(*plan_, lanes_, batch).append(rank, out);
  }

  void all(const GlobalBatch& batch, AssignedBatch* out) const override {
    const DividedBatch divided(*plan_, lanes_, batch);
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
