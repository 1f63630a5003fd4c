#include "loader/peers/home_host.h"

#include <algorithm>
#include <utility>

#include "base/unit_source.h"
#include "plan/deal.h"

namespace forebay {

namespace {

// Where the first sample of the selection that is not before `id` stands; ids ascend.
int64_t index_of(const Selection& selection, int64_t id) {
  int64_t begin = 0, end = selection.size();
  if (id >= 0 && id < end && selection.id_at(id) == id) return id;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (selection.id_at(middle) < id)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

}  // namespace

int64_t rank_by_count(const ScheduleOptions& schedule, int64_t position) {
  const int64_t whole = schedule.batch_size * schedule.world_size, begin = position / whole * whole;
  const int64_t left = std::min(whole, schedule.epoch_size - begin);
  const int64_t slots = schedule.last == LastPolicy::kPad ? whole : std::max(left, schedule.world_size);
  // Runs whose lengths differ by one at most, the longer ones first.
  const int64_t shorter = slots / schedule.world_size, longer = slots % schedule.world_size;
  const int64_t slot = position - begin, in_longer = longer * (shorter + 1);
  return slot < in_longer ? slot / (shorter + 1) : longer + (slot - in_longer) / std::max<int64_t>(shorter, 1);
}

HomeHost home_by_first_epoch(HomeInput input) {
  return [in = std::move(input)](int64_t element) {
    if (element < 0 || (in.units && element >= in.units->units())) return -1;
    const int64_t id = in.units ? in.units->unit_begin(element) : element;
    const int64_t index = index_of(*in.selection, id);
    if (index >= in.order->size()) return -1;
    const int64_t position = in.order->position_of(0, index);
    if (in.lanes > 1) return static_cast<int>(owner_of_lane(position % in.lanes, in.lanes, in.schedule.world_size));
    return static_cast<int>(rank_by_count(in.schedule, position));
  };
}

}  // namespace forebay
