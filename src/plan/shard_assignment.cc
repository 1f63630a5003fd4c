#include "plan/shard_assignment.h"

#include <algorithm>
#include <numeric>

#include "plan/equal_part.h"

namespace forebay {
namespace {

class AssignmentByCount final : public ShardAssignment {
 public:
  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    const EqualPart run = equal_part(batch.slots, batch.world_size, rank);
    out->resize(static_cast<size_t>(run.length));
    std::iota(out->begin(), out->end(), run.begin);
  }
};

class AssignmentByLane final : public ShardAssignment {
 public:
  explicit AssignmentByLane(int64_t lanes) : lanes_(lanes) {}

  void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const override {
    if (lanes_ == 1 || batch.world_size == 1) return assignment_by_count()->slots(batch, rank, out);
    const EqualPart run = equal_part(batch.slots, batch.world_size, rank);
    const int64_t end = run.begin + run.length;
    out->clear();
    int64_t position = 0;  // in the batch sorted by lane
    for (int64_t lane = 0; lane < lanes_ && position < end; ++lane) {
      // The lane's first slot in the batch. The batch need not begin at lane 0.
      const int64_t first = (lane - batch.position % lanes_ + lanes_) % lanes_;
      const int64_t count = first < batch.samples ? (batch.samples - first - 1) / lanes_ + 1 : 0;
      for (int64_t i = std::max<int64_t>(run.begin - position, 0); i < count && position + i < end; ++i)
        out->push_back(first + i * lanes_);
      position += count;
    }
    // Repeats come after all lanes, so their places are their slots.
    for (int64_t slot = std::max(batch.samples, run.begin); slot < end; ++slot) out->push_back(slot);
    // Ascending, as ShardAssignment requires, so that a rank's rows come in the order of the epoch.
    std::sort(out->begin(), out->end());
  }

 private:
  const int64_t lanes_;
};

}  // namespace

void ShardAssignment::all(const GlobalBatch& batch, AssignedBatch* out) const {
  out->slots.clear();
  out->begins.assign(1, 0);
  std::vector<int64_t> slots;
  for (int64_t rank = 0; rank < batch.world_size; ++rank) {
    this->slots(batch, rank, &slots);
    out->slots.insert(out->slots.end(), slots.begin(), slots.end());
    out->begins.push_back(static_cast<int64_t>(out->slots.size()));
  }
}

std::shared_ptr<const ShardAssignment> assignment_by_count() {
  // Stateless, so one instance serves all.
  static const auto assignment = std::make_shared<const AssignmentByCount>();
  return assignment;
}

std::shared_ptr<const ShardAssignment> assignment_by_lane(int64_t lanes) {
  return std::make_shared<const AssignmentByLane>(lanes);
}

int64_t owner_of_lane(int64_t lane, int64_t lanes, int64_t world_size) { return part_with(lane, lanes, world_size); }

std::vector<int64_t> rows_that_move(const GlobalBatch& batch, int64_t lanes) {
  const AssignmentByLane assignment(lanes);
  std::vector<int64_t> owners(static_cast<size_t>(lanes)), slots, moving;
  for (int64_t lane = 0; lane < lanes; ++lane)
    owners[static_cast<size_t>(lane)] = owner_of_lane(lane, lanes, batch.world_size);
  for (int64_t rank = 0; rank < batch.world_size; ++rank) {
    assignment.slots(batch, rank, &slots);
    for (int64_t slot : slots) {
      const int64_t position = batch.position + slot;
      if (slot < batch.samples && owners[static_cast<size_t>(position % lanes)] != rank) moving.push_back(position);
    }
  }
  std::sort(moving.begin(), moving.end());
  return moving;
}

}  // namespace forebay
