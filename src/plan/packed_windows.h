#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "forebay/result.h"
#include "plan/node.h"
#include "plan/packing.h"

namespace forebay {

/// The lengths of a leaf's samples, and what they cost of further budgets, by index in its order.
/// Both are 0 for a sample that is left out.
struct SequenceSizes {
  std::vector<uint32_t> lengths = {};
  std::vector<std::vector<uint32_t>> costs = {};  ///< by budget, then by index
};

/// The sizes of the samples of each leaf of a plan.
using SizesOfLeaves = std::vector<std::shared_ptr<const SequenceSizes>>;

struct PackedWindowsOptions {
  /// The rule in each window. `packing.window` counts positions of the plan whose samples share
  /// blocks, by any rule; windows may be up to twice as long.
  PackingOptions packing = {};
  std::vector<int64_t> limits = {};  ///< the most that a block may cost, by budget
};

/// The samples of a plan, of all of its leaves, in packed blocks of one length, which are made anew
/// in each epoch.
///
/// Each epoch of the plan is cut into windows of equal length. The samples of a window are packed as
/// Packing packs sequences, in the order of the plan. A block comes where the longest of its pieces
/// is in the plan, so blocks are shuffled if the plan is. All of that follows from the plan and the
/// sizes alone. Windows may have different numbers of blocks, and so may epochs.
///
/// Memory: 8 bytes a window of each of the last four epochs; about 60 bytes a position of the last
/// three windows. May be used by several threads at once.
class PackedWindows {
 public:
  /// InvalidArgument as for Packing::make(). Unsupported for windows with 2^32 pieces.
  static Result<std::shared_ptr<const PackedWindows>> make(std::shared_ptr<const PlanNode> plan, SizesOfLeaves sizes,
                                                           PackedWindowsOptions options);

  /// Number of blocks of an epoch. Plans all windows of the epoch that are not counted yet, which
  /// takes about as long as Packing::make() for the samples of the epoch.
  int64_t size(int64_t epoch) const { return count_blocks(epoch, INT64_MAX); }
  /// Number of blocks of the first windows that have at least `least` blocks together; of the whole
  /// epoch if it has fewer. Plans windows up to there that are not counted yet.
  int64_t count_blocks(int64_t epoch, int64_t least) const;
  /// Appends the pieces of a block of an epoch, from its beginning on, and the draws that they are
  /// parts of. PackedPiece::sequence is the index of the sample in the order of its leaf.
  void pieces(int64_t epoch, int64_t block, std::vector<PackedPiece>* pieces, std::vector<Draw>* draws) const;
  /// The first position of the plan whose sample may be in that block, or in a later one of the
  /// epoch; the size of the plan if there is no such block.
  int64_t first_position(int64_t epoch, int64_t block) const;

 private:
  struct Planned;
  // Blocks of an epoch before each window that was counted, and behind the last of these.
  struct Counts {
    int64_t epoch = -1;
    std::vector<int64_t> before = {0};
  };
  struct Place {
    int64_t window = 0, block = 0;  // number of the block in the window
  };

  PackedWindows(std::shared_ptr<const PlanNode> plan, SizesOfLeaves sizes, PackedWindowsOptions options);
  Place place_of(int64_t epoch, int64_t block) const;
  std::shared_ptr<const Planned> find(int64_t epoch, int64_t number) const;
  std::shared_ptr<const Planned> window(int64_t epoch, int64_t number) const;
  std::shared_ptr<const Planned> plan(int64_t epoch, int64_t number) const;
  Counts& counts_of(int64_t epoch) const FOREBAY_REQUIRES(mutex_);

  const std::shared_ptr<const PlanNode> plan_;
  const SizesOfLeaves sizes_;
  const PackedWindowsOptions options_;
  const int64_t windows_;
  mutable Mutex mutex_;
  // Those that were asked for last, the newest first.
  mutable std::array<std::shared_ptr<const Planned>, 3> recent_ FOREBAY_GUARDED_BY(mutex_);
  mutable std::array<Counts, 4> counts_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
