#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/source.h"
#include "plan/placement.h"

namespace forebay {

class Selection;
class ChunkSource;

/// Which host is the owner of a cache entry, and where in the first epoch it makes it.
struct Owner {
  int host = -1;         ///< negative: nobody knows
  int64_t position = 0;  ///< of epoch 0, at which it is dealt to that host
};

/// Which host should have what was made of an element (the id of a sample, or the number of a chunk). A guess: a wrong
/// one costs a question in vain. From any thread, for any number.
using OwnerOf = std::function<Owner(int64_t element)>;

struct OwnerInput {
  std::shared_ptr<const Placement> placement;  ///< a host for each rank
  std::shared_ptr<const Selection> selection;
  std::shared_ptr<const ChunkSource> chunks = {};  ///< null where elements are samples
};
/// What the placement says: the host that gets the element in epoch 0, and so makes and keeps it. A chunk is where the first of its samples is that
/// takes part.
OwnerOf owner_by_placement(OwnerInput input);

}  // namespace forebay
