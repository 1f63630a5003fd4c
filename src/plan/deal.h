#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace forebay {

/// The slots of one global batch: the next `samples` positions of the epoch, then repeats up to `slots`. Slot i of the
/// former is position `position` + i.
struct GlobalBatch {
  int64_t position = 0;
  int64_t samples = 0;
  int64_t slots = 0;  ///< at least world_size
  int64_t world_size = 1;
};

/// How a global batch is divided among the ranks. A pure function; every rank can compute it for every other.
///
/// Promise: each slot goes to exactly one rank, each rank gets at least one. A deal by bytes, cost or locality looks at
/// what stands at the positions, so it is made for one epoch and holds that epoch's order; one by count or lane holds
/// nothing. Deals decide where rows go and never which rows there are: that is the schedule's.
class Deal {
 public:
  virtual ~Deal() = default;
  /// The rank's slots, ascending. `out` is replaced.
  virtual void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const = 0;
};

/// Contiguous runs of slots whose lengths differ by one at most, the longer ones first.
std::shared_ptr<const Deal> deal_by_count();

/// The slots lane by lane (position % lanes, repeats last), cut into runs as by count: with `lanes` a multiple of the world size, and
/// batches a multiple of the lanes, a rank's rows come from lanes of its own alone. Elsewhere the rows at a cut move to a rank that
/// does not own their lane: rows_that_move().
std::shared_ptr<const Deal> deal_by_lane(int64_t lanes);

/// The rank that owns a lane: lanes are divided among ranks as a deal by count divides slots.
int64_t owner_of_lane(int64_t lane, int64_t lanes, int64_t world_size);
/// Positions of the batch whose rows go to a rank that does not own their lane, ascending.
std::vector<int64_t> rows_that_move(const GlobalBatch& batch, int64_t lanes);

}  // namespace forebay
