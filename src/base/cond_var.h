#pragma once

#include <chrono>
#include <condition_variable>
#include <utility>

#include "base/mutex.h"

namespace forebay {

/// A std::condition_variable for the holder of a Lock. A predicate that reads guarded members is a
/// lambda with FOREBAY_REQUIRES(mutex).
class CondVar {
 public:
  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  void wait(Lock& lock) { changed_.wait(lock.lock_); }
  template <typename Predicate>
  void wait(Lock& lock, Predicate predicate) {
    changed_.wait(lock.lock_, std::move(predicate));
  }

  template <typename Rep, typename Period>
  std::cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& timeout) {
    return changed_.wait_for(lock.lock_, timeout);
  }
  /// Returns what the predicate says at the end.
  template <typename Rep, typename Period, typename Predicate>
  bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& timeout, Predicate predicate) {
    return changed_.wait_for(lock.lock_, timeout, std::move(predicate));
  }

  template <typename Clock, typename Duration>
  std::cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& until) {
    return changed_.wait_until(lock.lock_, until);
  }
  template <typename Clock, typename Duration, typename Predicate>
  bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& until, Predicate predicate) {
    return changed_.wait_until(lock.lock_, until, std::move(predicate));
  }

 private:
  std::condition_variable changed_;
};

}  // namespace forebay
