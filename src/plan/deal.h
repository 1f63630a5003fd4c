#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace forebay {

class Order;
class Placement;

/// The slots of one global batch: the next `samples` positions of the epoch, then repeats up to `slots`. Slot i of the
/// former is position `position` + i.
struct GlobalBatch {
  int64_t position = 0;
  int64_t samples = 0;
  int64_t slots = 0;  ///< at least world_size
  int64_t world_size = 1;
  int64_t epoch = 0;
};

/// What all ranks get of a global batch.
struct DealtBatch {
  std::vector<int64_t> slots;   ///< rank by rank, ascending within each
  std::vector<int64_t> begins;  ///< where each rank's begin, and at the end their number

  std::span<const int64_t> of(int64_t rank) const {
    const auto r = static_cast<size_t>(rank);
    return std::span(slots).subspan(static_cast<size_t>(begins[r]), static_cast<size_t>(begins[r + 1] - begins[r]));
  }
};

/// How a global batch is divided among the ranks. A pure function; every rank can compute it for every other.
///
/// Promise: each slot goes to exactly one rank, each rank gets at least one. A deal by locality looks at what stands at the positions, so it
/// holds the order; one by count or lane holds nothing. Deals decide where rows go and never which rows there are: that is the schedule's.
class Deal {
 public:
  virtual ~Deal() = default;
  /// The rank's slots, ascending. `out` is replaced.
  virtual void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const = 0;
  /// Those of all ranks at once. `out` is replaced.
  virtual void all(const GlobalBatch& batch, DealtBatch* out) const;
};

/// Contiguous runs of slots whose lengths differ by one at most, the longer ones first.
std::shared_ptr<const Deal> deal_by_count();

/// The slots lane by lane (position % lanes, repeats last), cut into runs as by count: with `lanes` a multiple of the world size, and
/// batches a multiple of the lanes, a rank's rows come from lanes of its own alone. Elsewhere the rows at a cut move to a rank that
/// does not own their lane: rows_that_move().
std::shared_ptr<const Deal> deal_by_lane(int64_t lanes);

/// Each rank takes what its host keeps. What nobody keeps goes to ranks that lack rows, as evenly as can be; the rest is evened out from
/// the hosts that have too many, the largest surplus to the largest lack, so that at most world_size - 1 times a batch rows go from one
/// host to a rank of another. Each rank gets as many rows as by count. What a host keeps is divided evenly among its ranks.
///
/// Where rows are read in groups (placement->lanes() above 1) those that nobody keeps go first to the owner of their lane, so that a group is
/// read by few.
///
/// `order` is that of the placement. A batch for another number of ranks than the placement knows is dealt, too: what hosts without ranks
/// keep is then kept by nobody.
///
/// Which of a host's rows are handed over is decided by their place in the batch; a choice by bytes or by cost of decoding would be made
/// there, and would change no count.
std::shared_ptr<const Deal> deal_by_place(std::shared_ptr<const Order> order,
                                          std::shared_ptr<const Placement> placement);

/// The rank that owns a lane: lanes are divided among ranks as a deal by count divides slots.
int64_t owner_of_lane(int64_t lane, int64_t lanes, int64_t world_size);
/// Positions of the batch whose rows go to a rank that does not own their lane, ascending.
std::vector<int64_t> rows_that_move(const GlobalBatch& batch, int64_t lanes);

}  // namespace forebay
