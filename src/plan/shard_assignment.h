#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace forebay {

class Order;
class Placement;
class PlanNode;

/// The slots of one global batch: the next `samples` positions of the epoch, then repeats up to
/// `slots`. For i < samples, slot i is position `position` + i.
struct GlobalBatch {
  int64_t position = 0;
  int64_t samples = 0;
  int64_t slots = 0;  ///< at least world_size
  int64_t world_size = 1;
  int64_t epoch = 0;
};

/// The slots of a global batch, divided among all ranks.
struct AssignedBatch {
  std::vector<int64_t> slots;   ///< rank by rank, ascending within each
  std::vector<int64_t> begins;  ///< each rank's first index, then the total

  std::span<const int64_t> of(int64_t rank) const {
    const auto r = static_cast<size_t>(rank);
    return std::span(slots).subspan(static_cast<size_t>(begins[r]), static_cast<size_t>(begins[r + 1] - begins[r]));
  }
};

/// A shard assignment: divides a global batch among the ranks. A pure function, so every rank can
/// compute the slots of every other. May be used from any thread.
///
/// Invariant: each slot goes to exactly one rank, and each rank gets at least one. An assignment by
/// locality depends on the samples at the positions, so it holds the order; assignments by count or
/// lane hold nothing. An assignment decides only which rank gets a row. The schedule decides which
/// rows there are.
class ShardAssignment {
 public:
  virtual ~ShardAssignment() = default;
  /// Computes the rank's slots, ascending. Replaces `out`.
  virtual void slots(const GlobalBatch& batch, int64_t rank, std::vector<int64_t>* out) const = 0;
  /// Computes the slots of all ranks at once. Replaces `out`.
  virtual void all(const GlobalBatch& batch, AssignedBatch* out) const;
};

/// By count: contiguous runs of slots whose lengths differ by at most one, the longer ones first.
std::shared_ptr<const ShardAssignment> assignment_by_count();

/// By lane: sorts the slots by lane (position % lanes, repeats last), and cuts them into runs as by
/// count. If `lanes` is a multiple of the world size, and batches are a multiple of the lanes, each
/// rank gets only rows of its own lanes. Otherwise the rows at a cut go to a rank that does not own
/// their lane, see rows_that_move().
std::shared_ptr<const ShardAssignment> assignment_by_lane(int64_t lanes);

/// By locality: each rank gets rows that its host caches. Rows that no host caches go to ranks that
/// lack rows, as evenly as possible. The rest moves from the hosts that have too many, the largest
/// surplus to the largest lack. So in a batch rows move from one host to a rank of another at most
/// world_size - 1 times. Each rank gets as many rows as by count. A host's cached rows are divided
/// evenly among its ranks.
///
/// If rows are read in groups (placement->lanes() above 1), uncached rows go first to the owner of
/// their lane, so that few ranks read a group.
///
/// `order` is the order of the placement. A batch may have another number of ranks than the
/// placement: rows of hosts without ranks then count as uncached.
///
/// A host's rows are handed over by their place in the batch. A choice by bytes or by decoding cost
/// would be made there, and would change no count.
std::shared_ptr<const ShardAssignment> assignment_by_locality(std::shared_ptr<const Order> order,
                                                              std::shared_ptr<const Placement> placement);

/// By leaf: of each leaf of the plan, every rank gets as many rows as the others, within one, and
/// in all as many as by count. A leaf's rows are divided by lane (place % lanes[leaf]), so that
/// ranks get rows of their own lanes but for those at a cut. Takes time for leaves and own rows.
std::shared_ptr<const ShardAssignment> assignment_by_leaf(std::shared_ptr<const PlanNode> plan,
                                                          std::vector<int64_t> lanes);

/// The rank that owns a lane: lanes are divided among ranks as slots are by count.
int64_t owner_of_lane(int64_t lane, int64_t lanes, int64_t world_size);
/// Positions of the batch whose rows go to a rank that does not own their lane, ascending.
std::vector<int64_t> rows_that_move(const GlobalBatch& batch, int64_t lanes);

}  // namespace forebay
