#include "plan/first_ranks.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include "plan/placement.h"
#include "plan/sample_home.h"

namespace forebay {

namespace {

class ByPosition final : public FirstRanks {
 public:
  ByPosition(const ScheduleOptions& options, int64_t lanes)
      : positions_(sequential_order(options.epoch_size), {.hosts = {options.world_size, 1},
                                                          .batch_size = options.batch_size,
                                                          .lanes = lanes,
                                                          .pads = options.last == LastPolicy::kPad}) {}

  Delivery of(const FirstUse& use) const override { return {positions_.owner(use.at.position), use.at.position}; }

 private:
  const Placement positions_;  // of positions in place of samples, with a host for each rank
};

class ByBatch final : public FirstRanks {
 public:
  ByBatch(const ScheduleOptions& options, std::shared_ptr<const ShardAssignment> assignment)
      : schedule_(options), assignment_(std::move(assignment)) {}

  Delivery of(const FirstUse& use) const override {
    const ScheduleOptions& options = schedule_.options();
    const int64_t size = options.batch_size * options.world_size, slot = use.at.position % size;
    AssignedBatch assigned;
    assignment_->all(schedule_.global_batch({use.at.epoch, use.at.position - slot}), &assigned);
    const auto found = std::ranges::find(assigned.slots, slot);
    const auto rank = std::ranges::upper_bound(assigned.begins, found - assigned.slots.begin());
    return {rank - assigned.begins.begin() - 1, use.at.position};
  }

 private:
  const EqualBatches schedule_;
  const std::shared_ptr<const ShardAssignment> assignment_;
};

class ByHome final : public FirstRanks {
 public:
  explicit ByHome(int64_t world_size) : world_size_(world_size) {}
  Delivery of(const FirstUse& use) const override { return {home_of(use.index, world_size_), use.at.position}; }

 private:
  const int64_t world_size_;
};

class ByLengths final : public FirstRanks {
 public:
  ByLengths(std::shared_ptr<const PlanNode> plan, std::vector<SampleLengths> lengths, const BucketingOptions& options,
            int64_t world_size)
      : plan_(std::move(plan)), lengths_(std::move(lengths)), options_(options), world_size_(world_size) {}

  Delivery of(const FirstUse& use) const override {
    if (use.at.epoch != 0) return {};
    std::call_once(once_, [this] { number_batches(); });
    const auto batch = static_cast<int64_t>(batch_of_[static_cast<size_t>(use.at.position)]);
    return {batch % world_size_, begins_[static_cast<size_t>(batch)]};
  }

 private:
  // The order of delivery does not depend on the ranks, so that of a single one has a batch a step.
  void number_batches() const {
    const BucketedBatches batches(plan_, lengths_, options_, 1);
    batch_of_.resize(static_cast<size_t>(plan_->size()));
    std::vector<int64_t> positions;
    for (int64_t begin = 0; begin < plan_->size(); begin += std::ssize(positions)) {
      positions.resize(static_cast<size_t>(batches.next_position({0, begin}) - begin));
      std::iota(positions.begin(), positions.end(), begin);
      batches.to_plan_positions(0, positions);
      for (const int64_t position : positions)
        batch_of_[static_cast<size_t>(position)] = static_cast<uint32_t>(begins_.size());
      begins_.push_back(begin);
    }
  }

  const std::shared_ptr<const PlanNode> plan_;
  const std::vector<SampleLengths> lengths_;
  const BucketingOptions options_;
  const int64_t world_size_;
  mutable std::once_flag once_;
  mutable std::vector<uint32_t> batch_of_;  // by position in the plan
  mutable std::vector<int64_t> begins_;     // of the batches, in the order of delivery
};

}  // namespace

std::optional<FirstUse> first_use(const PlanNode& plan, size_t leaf, int64_t index, const Order::Use& since) {
  const Order::Use at = plan.next_use(leaf, index, since);
  return at == PlanNode::kNever ? std::nullopt : std::optional(FirstUse{index, at});
}

std::shared_ptr<const FirstRanks> first_ranks_by_position(const ScheduleOptions& options, int64_t lanes) {
  return std::make_shared<const ByPosition>(options, lanes);
}

std::shared_ptr<const FirstRanks> first_ranks_by_batch(const ScheduleOptions& options,
                                                       std::shared_ptr<const ShardAssignment> assignment) {
  return std::make_shared<const ByBatch>(options, std::move(assignment));
}

std::shared_ptr<const FirstRanks> first_ranks_by_home(int64_t world_size) {
  return std::make_shared<const ByHome>(world_size);
}

std::shared_ptr<const FirstRanks> first_ranks_by_lengths(std::shared_ptr<const PlanNode> plan,
                                                         std::vector<SampleLengths> lengths,
                                                         const BucketingOptions& options, int64_t world_size) {
  return std::make_shared<const ByLengths>(std::move(plan), std::move(lengths), options, world_size);
}

}  // namespace forebay
