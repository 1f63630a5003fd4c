#include "cluster/deadlines.h"

#include <utility>
#include <vector>

namespace forebay {

void Deadlines::add(const std::shared_ptr<std::stop_source>& stop, std::chrono::milliseconds after) {
  const Timer::Time when = timer_.now() + after;
  const std::lock_guard lock(mutex_);
  // Most requests are over long before their time, so that entries do not gather.
  while (!entries_.empty() && entries_.front().stop.expired()) entries_.pop_front();
  entries_.push_back({when, stop});
  if (!std::exchange(waits_, true)) waits_ = timer_.at(entries_.front().when, [this] { fire(); });
}

void Deadlines::fire() {
  std::vector<std::shared_ptr<std::stop_source>> late;
  {
    const std::lock_guard lock(mutex_);
    const Timer::Time now = timer_.now();
    while (!entries_.empty() && (entries_.front().when <= now || entries_.front().stop.expired())) {
      if (auto stop = entries_.front().stop.lock()) late.push_back(std::move(stop));
      entries_.pop_front();
    }
    waits_ = !entries_.empty() && timer_.at(entries_.front().when, [this] { fire(); });
  }
  // Without the lock: answers come from inside, and may ask again.
  for (const auto& stop : late) stop->request_stop();
}

}  // namespace forebay
