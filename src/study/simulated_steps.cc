#include "study/simulated_steps.h"

#include <algorithm>
#include <utility>

#include "plan/divided_batches.h"
#include "plan/equal_batches.h"
#include "plan/hosts.h"

namespace forebay {

namespace {

Hosts hosts_of(const SimulationOptions& options) {
  return {options.hosts * options.ranks_per_host, options.ranks_per_host};
}

std::shared_ptr<const ShardAssignment> assignment_for(Dividing dividing, const std::shared_ptr<const Order>& order,
                                                      const PlacementOptions& placement) {
  if (dividing == Dividing::kByCount) return assignment_by_count();
  // As in the loader: ranks do not know each other's budgets, so each sample counts as cached by
  // the host that reads it first.
  return assignment_by_locality(order, std::make_shared<const Placement>(order, placement));
}

class EqualSteps final : public SimulatedSteps {
 public:
  EqualSteps(const SimulationOptions& options, const std::shared_ptr<const Order>& order, int64_t rows_cached,
             Dividing dividing)
      : schedule_(ScheduleOptions{.epoch_size = options.samples,
                                  .batch_size = *options.batch_size,
                                  .world_size = options.hosts * options.ranks_per_host,
                                  .last = LastPolicy::kPartial}),
        placement_(order, {.hosts = hosts_of(options), .batch_size = *options.batch_size, .budgets = {rows_cached}}),
        assignment_(assignment_for(dividing, order, {.hosts = hosts_of(options), .batch_size = *options.batch_size})) {}

  int64_t next_position(const Order::Use& at) const override { return schedule_.next_position(at.position); }
  void divide(const Order::Use& at, AssignedBatch* out) const override {
    assignment_->all(schedule_.global_batch(at), out);
  }
  Placement::Ownership owner(int64_t id) const override { return placement_.ownership(id); }
  int64_t rows_of_host(int64_t host) const override { return placement_.rows_assigned(host); }

 private:
  const EqualBatches schedule_;
  const Placement placement_;
  const std::shared_ptr<const ShardAssignment> assignment_;
};

class LikeLengthSteps final : public SimulatedSteps {
 public:
  LikeLengthSteps(const SimulationOptions& options, std::shared_ptr<const Order> order, int64_t rows_cached,
                  std::shared_ptr<const BatchEnds> ends)
      : hosts_(hosts_of(options)), order_(std::move(order)), rows_cached_(rows_cached), ends_(std::move(ends)),
        rows_of_hosts_(static_cast<size_t>(options.hosts)) {
    for (int64_t position = 0; position < order_->size();) {
      const std::vector<int64_t> ends_of_ranks = ends_at({0, position});
      for (int64_t rank = 0; rank < std::ssize(ends_of_ranks); ++rank) {
        const int64_t end = ends_of_ranks[static_cast<size_t>(rank)];
        int64_t& rows = rows_of_hosts_[static_cast<size_t>(hosts_.of_rank(rank))];
        first_epoch_.push_back({end, hosts_.of_rank(rank), rows - position});
        rows += end - position;
        position = end;
      }
    }
  }

  int64_t next_position(const Order::Use& at) const override { return ends_at(at).back(); }

  void divide(const Order::Use& at, AssignedBatch* out) const override {
    *out = {};
    out->begins.push_back(0);
    for (const int64_t end : ends_at(at)) out->begins.push_back(end - at.position);
    for (int64_t slot = 0; slot < out->begins.back(); ++slot) out->slots.push_back(slot);
    out->begins.resize(static_cast<size_t>(hosts_.world_size) + 1, out->begins.back());
  }

  Placement::Ownership owner(int64_t id) const override {
    const int64_t position = order_->position_of(0, id);
    if (position == order_->size()) return {};
    const Share& share = *std::ranges::upper_bound(first_epoch_, position, {}, &Share::end);
    const int64_t index = position + share.offset;
    if (index >= rows_cached_) return {};
    return {static_cast<int32_t>(share.host), index, position};
  }

  int64_t rows_of_host(int64_t host) const override { return rows_of_hosts_[static_cast<size_t>(host)]; }

 private:
  // A rank's rows of a step.
  struct Share {
    int64_t end = 0;  // position
    int64_t host = 0;
    int64_t offset = 0;  // of the numbers of the host's rows, from their positions
  };

  // The ends of the batches of a step, by rank. The last step of an epoch may have fewer batches
  // than ranks, which are divided.
  std::vector<int64_t> ends_at(const Order::Use& at) const {
    const std::vector<int64_t>& ends = (*ends_)[static_cast<size_t>(at.epoch)];
    const auto first = std::ranges::upper_bound(ends, at.position);
    const auto count = std::min<int64_t>(ends.end() - first, hosts_.world_size);
    std::vector<int64_t> here(first, first + count);
    return count < hosts_.world_size ? divide_batches(at.position, here, hosts_.world_size) : here;
  }

  const Hosts hosts_;
  const std::shared_ptr<const Order> order_;
  const int64_t rows_cached_;
  const std::shared_ptr<const BatchEnds> ends_;
  std::vector<Share> first_epoch_;
  std::vector<int64_t> rows_of_hosts_;
};

}  // namespace

std::unique_ptr<SimulatedSteps> equal_steps(const SimulationOptions& options, std::shared_ptr<const Order> order,
                                            int64_t rows_cached, Dividing dividing) {
  return std::make_unique<EqualSteps>(options, order, rows_cached, dividing);
}

std::unique_ptr<SimulatedSteps> like_length_steps(const SimulationOptions& options, std::shared_ptr<const Order> order,
                                                  int64_t rows_cached, std::shared_ptr<const BatchEnds> ends) {
  return std::make_unique<LikeLengthSteps>(options, std::move(order), rows_cached, std::move(ends));
}

}  // namespace forebay
