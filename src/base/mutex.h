#pragma once

#include <mutex>

#include "base/thread_annotations.h"

namespace forebay {

/// A std::mutex that clang's thread safety analysis knows. Usually held through a Lock.
class FOREBAY_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() FOREBAY_ACQUIRE() { mutex_.lock(); }
  void unlock() FOREBAY_RELEASE() { mutex_.unlock(); }
  bool try_lock() FOREBAY_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class Lock;
  std::mutex mutex_;
};

/// Holds a Mutex until it is destroyed; unlock() releases it meanwhile.
class FOREBAY_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Mutex& mutex) FOREBAY_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  /// Takes over a mutex that the caller has locked, for example by try_lock().
  Lock(Mutex& mutex, std::adopt_lock_t adopt) FOREBAY_REQUIRES(mutex) : lock_(mutex.mutex_, adopt) {}
  /// Holds nothing until lock() is called.
  Lock(Mutex& mutex, std::defer_lock_t defer) FOREBAY_EXCLUDES(mutex) : lock_(mutex.mutex_, defer) {}
  ~Lock() FOREBAY_RELEASE() {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() FOREBAY_ACQUIRE() { lock_.lock(); }
  void unlock() FOREBAY_RELEASE() { lock_.unlock(); }

 private:
  friend class CondVar;
  friend class StoppableCondVar;
  std::unique_lock<std::mutex> lock_;
};

/// Releases a mutex that the caller holds through `lock`, and takes it again when it is destroyed.
class FOREBAY_SCOPED_CAPABILITY Unlock {
 public:
  // The analysis does not know which mutex a Lock& holds.
  Unlock(Lock& lock, [[maybe_unused]] Mutex& mutex) FOREBAY_RELEASE(mutex) FOREBAY_NO_THREAD_SAFETY_ANALYSIS
      : lock_(lock) {
    lock_.unlock();
  }
  ~Unlock() FOREBAY_RELEASE() FOREBAY_NO_THREAD_SAFETY_ANALYSIS { lock_.lock(); }
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;

 private:
  Lock& lock_;
};

}  // namespace forebay
