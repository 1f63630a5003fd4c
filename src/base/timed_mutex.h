#pragma once

#include <chrono>
#include <mutex>

#include "base/thread_annotations.h"

namespace forebay {

/// A std::timed_mutex that clang's thread safety analysis knows: a mutex for which a thread waits
/// for a limited time. Held through a TimedLock.
class FOREBAY_CAPABILITY("mutex") TimedMutex {
 public:
  TimedMutex() = default;
  TimedMutex(const TimedMutex&) = delete;
  TimedMutex& operator=(const TimedMutex&) = delete;

  void lock() FOREBAY_ACQUIRE() { mutex_.lock(); }
  void unlock() FOREBAY_RELEASE() { mutex_.unlock(); }
  bool try_lock() FOREBAY_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  template <typename Rep, typename Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) FOREBAY_TRY_ACQUIRE(true) {
    return mutex_.try_lock_for(timeout);
  }
  template <typename Clock, typename Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& until) FOREBAY_TRY_ACQUIRE(true) {
    return mutex_.try_lock_until(until);
  }

 private:
  std::timed_mutex mutex_;
};

/// Holds a TimedMutex until it is destroyed.
class FOREBAY_SCOPED_CAPABILITY TimedLock {
 public:
  explicit TimedLock(TimedMutex& mutex) FOREBAY_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  /// Takes over a mutex that the caller has locked by try_lock_for().
  TimedLock(TimedMutex& mutex, std::adopt_lock_t) FOREBAY_REQUIRES(mutex) : mutex_(mutex) {}
  ~TimedLock() FOREBAY_RELEASE() { mutex_.unlock(); }
  TimedLock(const TimedLock&) = delete;
  TimedLock& operator=(const TimedLock&) = delete;

 private:
  TimedMutex& mutex_;
};

}  // namespace forebay
