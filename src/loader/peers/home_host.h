#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/source.h"
#include "plan/order.h"
#include "plan/schedule.h"

namespace forebay {

class UnitSource;

/// Which host should have what was made of an element (the id of a sample, or the number of a unit); negative: nobody knows. A guess: a wrong
/// one costs a question in vain. From any thread.
using HomeHost = std::function<int(int64_t element)>;

/// The rank that the element at `position` of epoch 0 is dealt to, with contiguous parts of each global batch (deal_by_count()).
int64_t rank_by_count(const ScheduleOptions& schedule, int64_t position);

struct HomeInput {
  std::shared_ptr<const Order> order;
  std::shared_ptr<const Selection> selection;
  ScheduleOptions schedule;
  int64_t lanes = 1;
  std::shared_ptr<const UnitSource> units = {};  ///< null where elements are samples
};
/// The rank that gets the element in epoch 0, and so makes and keeps it: by count, or by lane where there are several. For one rank a
/// host.
HomeHost home_by_first_epoch(HomeInput input);

}  // namespace forebay
