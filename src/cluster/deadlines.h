#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>

#include "store/timer.h"

namespace forebay {

/// Ends requests that take too long in all, however many bytes trickle in: they are asked to stop. May be used from any thread.
///
/// One point in time is waited for, not one for each request: most are over long before their time.
class Deadlines {
 public:
  /// Asks `stop` to stop once `after` has passed, if anybody holds it by then.
  void add(const std::shared_ptr<std::stop_source>& stop, std::chrono::milliseconds after);
  void close() { timer_.close(); }

 private:
  void fire(Timer::Time when);
  /// Under the lock.
  void wait_for_first();

  std::mutex mutex_;
  std::multimap<Timer::Time, std::weak_ptr<std::stop_source>> entries_;
  Timer::Time wakes_at_ = Timer::Time::max();
  Timer timer_{/*manual=*/false};  // last: its thread uses the rest
};

}  // namespace forebay
