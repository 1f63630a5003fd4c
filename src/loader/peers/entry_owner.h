#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/source.h"
#include "plan/placement.h"

namespace forebay {

class Selection;
class ChunkSource;

/// Owner of a cache entry, and the position at which the owner computes it.
struct Owner {
  int host = -1;         ///< negative: unknown
  int64_t position = 0;  ///< position in epoch 0 at which that host gets the element
};

/// Returns the owner of an element (the id of a sample, or the number of a chunk). The answer is
/// an estimate: a wrong one costs a useless request. Thread-safe, and defined for any number.
using OwnerOf = std::function<Owner(int64_t element)>;

struct OwnerInput {
  std::shared_ptr<const Placement> placement;  ///< a host for each rank
  std::shared_ptr<const Selection> selection;
  std::shared_ptr<const ChunkSource> chunks = {};  ///< null where elements are samples
};
/// Assigns each element to the host that gets it in epoch 0, and so computes and caches it. A chunk
/// belongs to the host of its first selected sample.
OwnerOf owner_by_placement(OwnerInput input);

}  // namespace forebay
