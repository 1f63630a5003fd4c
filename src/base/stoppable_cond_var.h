#pragma once

#include <chrono>
#include <condition_variable>
#include <stop_token>
#include <utility>

#include "base/mutex.h"

namespace forebay {

/// A condition variable whose waits end when a stop is requested, too. Costs more than a CondVar:
/// it has a mutex of its own and registers a callback for each wait.
///
/// Each wait returns what the predicate says at the end. A predicate that reads guarded members is
/// a lambda with FOREBAY_REQUIRES(mutex).
class StoppableCondVar {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  template <typename Predicate>
  bool wait(Lock& lock, std::stop_token stop, Predicate predicate) {
    return changed_.wait(lock.lock_, std::move(stop), std::move(predicate));
  }
  template <typename Rep, typename Period, typename Predicate>
  bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& timeout, Predicate predicate) {
    return changed_.wait_for(lock.lock_, timeout, std::move(predicate));
  }
  template <typename Rep, typename Period, typename Predicate>
  bool wait_for(Lock& lock, std::stop_token stop, const std::chrono::duration<Rep, Period>& timeout,
                Predicate predicate) {
    return changed_.wait_for(lock.lock_, std::move(stop), timeout, std::move(predicate));
  }
  template <typename Clock, typename Duration, typename Predicate>
  bool wait_until(Lock& lock, std::stop_token stop, const std::chrono::time_point<Clock, Duration>& until,
                  Predicate predicate) {
    return changed_.wait_until(lock.lock_, std::move(stop), until, std::move(predicate));
  }

 private:
  std::condition_variable_any changed_;
};

}  // namespace forebay
