#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <thread>
#include <vector>

#include "base/cond_var.h"
#include "base/mutex.h"

namespace forebay {

/// Calls functions at points in time: on one thread of its own, which starts with the first, or in
/// advance() if it is manual. Methods may be called from any thread.
class Timer {
 public:
  using Time = std::chrono::nanoseconds;  ///< since the timer was made

  explicit Timer(bool manual) : state_(std::make_shared<State>()), manual_(manual) {}
  ~Timer() { close(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  Time now() const;
  /// Calls `function` at `when`. Functions of the same time run in the order they came. Returns
  /// false, and drops the function, after close() or if the thread could not be started.
  bool at(Time when, std::function<void()> function);
  /// For manual timers: advances the time and runs on this thread what is due.
  void advance(Time by);
  /// Drops functions that have not run, and waits for a running one, unless it is the caller.
  void close();

 private:
  struct Entry {
    Time when;
    uint64_t order;
    mutable std::function<void()> function;  // moved out of the queue's top
    bool operator<(const Entry& other) const { return when != other.when ? when > other.when : order > other.order; }
  };
  struct State {
    Mutex mutex;
    CondVar changed;
    std::priority_queue<Entry> queue FOREBAY_GUARDED_BY(mutex);
    uint64_t posted FOREBAY_GUARDED_BY(mutex) = 0;
    Time manual_now FOREBAY_GUARDED_BY(mutex){0};
    bool closing FOREBAY_GUARDED_BY(mutex) = false;
    const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  };
  /// Starts the thread. Returns false if that fails.
  bool start_thread() FOREBAY_REQUIRES(state_->mutex);
  static void run(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
  const bool manual_;
  std::thread thread_;
};

}  // namespace forebay
