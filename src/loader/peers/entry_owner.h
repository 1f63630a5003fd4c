#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/source.h"
#include "plan/first_ranks.h"
#include "plan/node.h"

namespace forebay {

class Selection;
class ChunkSource;

/// Owner of a cache entry, and the position at which the owner computes it.
struct Owner {
  int host = -1;         ///< negative: unknown
  int64_t position = 0;  ///< position at which that host gets the element, counted over all epochs
};

/// Returns the owner of an element (a sample or a chunk, by its number in ElementNumbers). The
/// answer is an estimate: a wrong one costs a useless request. Thread-safe, and defined for any
/// number.
using OwnerOf = std::function<Owner(int64_t element)>;

/// The numbers of the elements of all branches: those of a branch follow those of the branch before
/// it. A sample has its id as its number in the branch, and a chunk its own number.
class ElementNumbers {
 public:
  /// `sizes`: of the sources of the branches. None has more chunks than samples.
  explicit ElementNumbers(const std::vector<int64_t>& sizes);

  struct Place {
    size_t branch = 0;
    int64_t element = 0;  ///< number in the branch
  };
  int64_t first(size_t branch) const { return firsts_[branch]; }
  int64_t size() const { return firsts_.back(); }
  /// `number` is in [0, size()).
  Place place_of(int64_t number) const;

 private:
  std::vector<int64_t> firsts_;  // of each branch; then their number
};

/// The elements of a branch whose results are cached.
struct OwnedElements {
  std::shared_ptr<const Selection> selection;      ///< null: their owners are unknown
  std::shared_ptr<const ChunkSource> chunks = {};  ///< null where elements are samples
};
struct OwnerInput {
  std::shared_ptr<const PlanNode> plan;
  Order::Use since = {};  ///< the plan is unknown before it
  std::shared_ptr<const FirstRanks> ranks;
  std::shared_ptr<const ElementNumbers> numbers;
  std::vector<OwnedElements> branches;
};
/// Assigns each element to the rank that gets it first, and so computes and caches it. A chunk
/// belongs to the rank of its first selected sample.
OwnerOf owner_in_plan(OwnerInput input);

}  // namespace forebay
