#include "cluster/deadlines.h"

#include <utility>
#include <vector>

namespace forebay {

void Deadlines::add(const std::shared_ptr<std::stop_source>& stop, std::chrono::milliseconds after) {
  const Timer::Time when = timer_.now() + after;
  const Lock lock(mutex_);
  // Entries of requests that have ended are dropped here, so that they do not accumulate.
  while (!entries_.empty() && entries_.begin()->second.expired()) entries_.erase(entries_.begin());
  entries_.emplace(when, stop);
  wait_for_first();
}

void Deadlines::wait_for_first() {
  if (entries_.empty() || entries_.begin()->first >= wakes_at_) return;
  const Timer::Time when = entries_.begin()->first;
  if (timer_.at(when, [this, when] { fire(when); })) wakes_at_ = when;
}

void Deadlines::fire(Timer::Time when) {
  std::vector<std::shared_ptr<std::stop_source>> late;
  {
    const Lock lock(mutex_);
    // An earlier deadline was added after this wake-up was set; its own wake-up handles the rest.
    if (when != wakes_at_) return;
    const Timer::Time now = timer_.now();
    while (!entries_.empty() && (entries_.begin()->first <= now || entries_.begin()->second.expired())) {
      if (auto stop = entries_.begin()->second.lock()) late.push_back(std::move(stop));
      entries_.erase(entries_.begin());
    }
    wakes_at_ = Timer::Time::max();
    wait_for_first();
  }
  // Stopped without the lock, because the requests answer from inside and may add new ones.
  for (const auto& stop : late) stop->request_stop();
}

}  // namespace forebay
