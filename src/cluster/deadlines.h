#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <stop_token>

#include "base/mutex.h"
#include "store/timer.h"

namespace forebay {

/// Limits the total time of requests: asks a request to stop at its deadline, even if bytes still
/// trickle in. Methods may be called from any thread.
///
/// The timer waits only for the earliest deadline, because most requests end long before theirs.
class Deadlines {
 public:
  /// Asks `stop` to stop once `after` has passed, unless its last owner has released it by then.
  void add(const std::shared_ptr<std::stop_source>& stop, std::chrono::milliseconds after);
  void close() { timer_.close(); }

 private:
  void fire(Timer::Time when);
  /// Sets the timer to the earliest deadline.
  void wait_for_first() FOREBAY_REQUIRES(mutex_);

  Mutex mutex_;
  std::multimap<Timer::Time, std::weak_ptr<std::stop_source>> entries_ FOREBAY_GUARDED_BY(mutex_);
  Timer::Time wakes_at_ FOREBAY_GUARDED_BY(mutex_) = Timer::Time::max();
  Timer timer_{/*manual=*/false};  // last: its thread uses the rest
};

}  // namespace forebay
