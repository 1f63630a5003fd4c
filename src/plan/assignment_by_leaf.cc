#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "plan/divisor.h"
#include "plan/equal_part.h"
#include "plan/node.h"
#include "plan/shard_assignment.h"

namespace forebay {
namespace {

// Consecutive draws of a leaf, sorted by lane, then by draw. A place of a pass is in lane
// place % lanes. Nothing is stored for a draw, since a batch of many ranks has many of them.
class DrawsByLane {
 public:
  // The draws from `first` on, before `end`; `size` is the number of places of a pass.
  DrawsByLane(const Order::Use& first, const Order::Use& end, int64_t size, int64_t lanes)
      : first_(first), end_(end), size_(size), lanes_(lanes), divisor_(lanes) {}

  int64_t count() const { return (end_.epoch - first_.epoch) * size_ + end_.position - first_.position; }
  Order::Use at(int64_t index) const {
    const auto all = std::views::iota(int64_t{0}, lanes_);
    const int64_t lane =
        *std::ranges::partition_point(all, [&](int64_t each) { return in_first_lanes(each + 1) <= index; });
    const int64_t number = before(first_, lane) + index - in_first_lanes(lane), of_pass = of_lane(size_, lane);
    return {number / of_pass, number % of_pass * lanes_ + lane};
  }
  int64_t index_of(const Order::Use& draw) const {
    const int64_t lane = divisor_.divide(draw.position).remainder;
    return in_first_lanes(lane) + before(draw, lane) - before(first_, lane);
  }

 private:
  // Of the first places of a pass, those in a lane, and those in the first lanes.
  int64_t of_lane(int64_t places, int64_t lane) const { return divisor_.divide(places + lanes_ - 1 - lane).quotient; }
  int64_t of_first_lanes(int64_t places, int64_t lanes) const {
    const Divisor::Parts rounds = divisor_.divide(places);
    return rounds.quotient * lanes + std::min(rounds.remainder, lanes);
  }
  // The draws of a lane before this one, over all passes.
  int64_t before(const Order::Use& draw, int64_t lane) const {
    return draw.epoch * of_lane(size_, lane) + of_lane(draw.position, lane);
  }
  int64_t in_first_lanes(int64_t lanes) const {
    return (end_.epoch - first_.epoch) * of_first_lanes(size_, lanes) + of_first_lanes(end_.position, lanes) -
           of_first_lanes(first_.position, lanes);
  }

  Order::Use first_, end_;
  int64_t size_, lanes_;
  Divisor divisor_;  // by the lanes
};

// A global batch, divided leaf by leaf. Repeats count as one more leaf, which is the last.
class DividedBatch {
 public:
  DividedBatch(const PlanNode& plan, const std::vector<int64_t>& lanes, const GlobalBatch& batch)
      : plan_(plan), batch_(batch) {
    const Order::Use begin{batch.epoch, batch.position}, end{batch.epoch, batch.position + batch.samples};
    leaves_.reserve(lanes.size() + 1);
    for (size_t leaf = 0; leaf < lanes.size(); ++leaf) {
      const int64_t size = plan.order(leaf).size();
      const bool draws = size > 0 && batch.samples > 0;
      add({draws ? plan.next_draw(leaf, begin) : Order::Use{}, draws ? plan.next_draw(leaf, end) : Order::Use{}, size,
           lanes[leaf]});
    }
    const int64_t repeats = batch.slots - batch.samples;
    add({{0, 0}, {0, repeats}, repeats, 1});
  }

  // Appends the rank's slots, ascending.
  void append_slots(int64_t rank, std::vector<int64_t>* out) const {
    const auto first = static_cast<std::ptrdiff_t>(out->size());
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      const Leaf& of = leaves_[leaf];
      for (int64_t index = begin_of(of, rank), end = begin_of(of, rank + 1); index < end; ++index)
        out->push_back(slot_of(leaf, of.draws.at(index)));
    }
    std::sort(out->begin() + first, out->end());
  }

  int64_t rank_of(size_t leaf, const Order::Use& draw) const {
    const Leaf& of = leaves_[leaf];
    const int64_t index = of.draws.index_of(draw);
    // The runs change their length at three ranks at most.
    int64_t first = 0, longer = 1;
    for (const int64_t end : {wrapped(of), of.first_longer, std::min(of.first_longer + of.longer, batch_.world_size)}) {
      if (index < begin_of(of, end)) break;
      first = end;
      longer = 1 - longer;
    }
    return first + (index - begin_of(of, first)) / (of.share + longer);
  }
  size_t leaf_of_repeats() const { return leaves_.size() - 1; }

 private:
  struct Leaf {
    DrawsByLane draws;
    int64_t share, longer;  // draws of each rank, and the number of ranks that have one more
    int64_t first_longer;   // the first of these ranks; behind the last rank follows rank 0
  };

  // Each leaf is cut into runs whose lengths differ by at most one. The longer runs of a leaf go to
  // the ranks after those that had the last longer ones, so that all ranks get as many slots as by
  // count.
  void add(const DrawsByLane& draws) {
    const int64_t count = draws.count(), ranks = batch_.world_size;
    leaves_.push_back({draws, count / ranks, count % ranks, draws_ % ranks});
    draws_ += count;
  }

  // The index of the first draw of the rank's run.
  int64_t begin_of(const Leaf& leaf, int64_t rank) const {
    return rank * leaf.share + std::clamp<int64_t>(rank - leaf.first_longer, 0, leaf.longer) +
           std::min(wrapped(leaf), rank);
  }
  // The number of ranks from rank 0 on that have longer runs.
  int64_t wrapped(const Leaf& leaf) const {
    return std::max<int64_t>(leaf.first_longer + leaf.longer - batch_.world_size, 0);
  }

  int64_t slot_of(size_t leaf, const Order::Use& draw) const {
    return leaf == leaf_of_repeats() ? batch_.samples + draw.position
                                     : plan_.position_of(leaf, draw).position - batch_.position;
  }

  const PlanNode& plan_;
  const GlobalBatch& batch_;
  std::vector<Leaf> leaves_;
  int64_t draws_ = 0;  // of `leaves_`
};

class AssignmentByLeaf final : public ShardAssignment {
 public:
  AssignmentByLeaf(std::shared_ptr<const PlanNode> plan, std::vector<int64_t> lanes)
      : plan_(std::move(plan)), lanes_(std::move(lanes)) {}

  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    out->clear();
    DividedBatch(*plan_, lanes_, batch).append_slots(rank, out);
  }

  void all(const GlobalBatch& batch, AssignedBatch* out) const override {
    const DividedBatch divided(*plan_, lanes_, batch);
    out->begins.clear();
    for (int64_t rank = 0; rank < batch.world_size; ++rank)
      out->begins.push_back(equal_part(batch.slots, batch.world_size, rank).begin);
    std::vector<int64_t> next = out->begins;
    out->begins.push_back(batch.slots);
    out->slots.resize(static_cast<size_t>(batch.slots));
    const auto give = [&](int64_t rank, int64_t slot) {
      out->slots[static_cast<size_t>(next[static_cast<size_t>(rank)]++)] = slot;
    };
    std::array<Draw, 256> draws;
    for (int64_t slot = 0; slot < batch.samples;) {
      const auto some = std::span(draws).first(static_cast<size_t>(std::min(std::ssize(draws), batch.samples - slot)));
      plan_->draws(batch.epoch, batch.position + slot, some, DrawPart::kPlace);
      for (const Draw& draw : some)
        give(divided.rank_of(static_cast<size_t>(draw.leaf), {draw.pass, draw.place}), slot++);
    }
    for (int64_t slot = batch.samples; slot < batch.slots; ++slot)
      give(divided.rank_of(divided.leaf_of_repeats(), {0, slot - batch.samples}), slot);
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
