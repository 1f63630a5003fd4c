#pragma once

#include <shared_mutex>

#include "base/thread_annotations.h"

namespace forebay {

/// A std::shared_mutex that clang's thread safety analysis knows. Readers hold it through a
/// SharedLock, a writer through an ExclusiveLock.
class FOREBAY_CAPABILITY("shared mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() FOREBAY_ACQUIRE() { mutex_.lock(); }
  void unlock() FOREBAY_RELEASE() { mutex_.unlock(); }
  void lock_shared() FOREBAY_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() FOREBAY_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

/// Holds a SharedMutex together with other readers. What it guards may only be read.
class FOREBAY_SCOPED_CAPABILITY SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) FOREBAY_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex.lock_shared(); }
  ~SharedLock() FOREBAY_RELEASE() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

/// Holds a SharedMutex alone.
class FOREBAY_SCOPED_CAPABILITY ExclusiveLock {
 public:
  explicit ExclusiveLock(SharedMutex& mutex) FOREBAY_ACQUIRE(mutex) : mutex_(mutex) { mutex.lock(); }
  ~ExclusiveLock() FOREBAY_RELEASE() { mutex_.unlock(); }
  ExclusiveLock(const ExclusiveLock&) = delete;
  ExclusiveLock& operator=(const ExclusiveLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace forebay
