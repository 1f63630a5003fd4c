#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/source.h"
#include "plan/placement.h"

namespace forebay {

class Selection;
class UnitSource;

/// Where something is at home.
struct Home {
  int host = -1;         ///< negative: nobody knows
  int64_t position = 0;  ///< of epoch 0, at which it is dealt to that host
};

/// Which host should have what was made of an element (the id of a sample, or the number of a unit). A guess: a wrong
/// one costs a question in vain. From any thread, for any number.
using HomeHost = std::function<Home(int64_t element)>;

struct HomeInput {
  std::shared_ptr<const Placement> placement;  ///< a host for each rank
  std::shared_ptr<const Selection> selection;
  std::shared_ptr<const UnitSource> units = {};  ///< null where elements are samples
};
/// What the placement says: the host that gets the element in epoch 0, and so makes and keeps it. A unit is where the first of its samples is that
/// takes part.
HomeHost home_by_placement(HomeInput input);

}  // namespace forebay
