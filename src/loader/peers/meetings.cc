#include "loader/peers/meetings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/mutex.h"

namespace forebay {

MeetingSlot reserve_meeting(const std::string& folder, int rank, uint64_t generation) {
  using Meeting = std::tuple<std::string, int, uint64_t>;
  // Never destroyed, because loaders may close while the process ends.
  static auto& mutex = *new Mutex;
  static auto& all = *new std::map<Meeting, std::vector<std::weak_ptr<const void>>>;
  const Lock lock(mutex);
  std::erase_if(all, [](const auto& each) {
    return std::ranges::all_of(each.second, [](const auto& held) { return held.expired(); });
  });
  std::vector<std::weak_ptr<const void>>& taken = all[{folder, rank, generation}];
  auto free = std::ranges::find_if(taken, [](const auto& held) { return held.expired(); });
  if (free == taken.end()) free = taken.insert(free, std::weak_ptr<const void>());
  const std::shared_ptr<const void> held = std::make_shared<const char>();
  *free = held;
  return {static_cast<int>(free - taken.begin()), held};
}

}  // namespace forebay
