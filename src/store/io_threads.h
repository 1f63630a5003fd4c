#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/cond_var.h"
#include "base/mutex.h"

namespace forebay {

/// A few threads for system calls that may wait for a device. At most `max_threads` start, when
/// there is work. They never decode.
///
/// close() drops jobs that have not begun and waits for the others. A thread whose system call does
/// not return within `patience` (a dead network mount) is abandoned; it then uses only what its job
/// owns, so jobs must own what they use. Methods may be called from any thread, but post() must not
/// run at the same time as close().
class IoThreads {
 public:
  explicit IoThreads(size_t max_threads, std::chrono::milliseconds patience = std::chrono::seconds(5));
  ~IoThreads() { close(); }
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  /// Returns false, and drops the job, if no thread could be started and none is running, or after
  /// a fork: threads stay with the parent.
  bool post(std::function<void()> job);
  void close();
  size_t threads() const;
  /// Returns whether this process is a fork of the one that made the object. It then has no
  /// threads, and locks may be held forever.
  bool in_forked_child() const;

 private:
  struct State {
    Mutex mutex;
    CondVar work, ended;
    std::deque<std::function<void()>> jobs FOREBAY_GUARDED_BY(mutex);
    std::vector<std::thread> handles;
    size_t threads FOREBAY_GUARDED_BY(mutex) = 0;
    size_t idle FOREBAY_GUARDED_BY(mutex) = 0;
    bool closing FOREBAY_GUARDED_BY(mutex) = false;
  };
  static void run(const std::shared_ptr<State>& state);
  bool start_thread() FOREBAY_REQUIRES(state_->mutex);

  const size_t max_threads_;
  const std::chrono::milliseconds patience_;
  const uint64_t generation_;
  std::shared_ptr<State> state_;
};

}  // namespace forebay
