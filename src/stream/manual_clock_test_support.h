#pragma once

#include <atomic>
#include <thread>

#include "stream/stream_clock.h"

namespace forebay {

/// A clock whose time moves only when a test moves it or when somebody waits: a wait ends at once,
/// and its time is then the clock's. It begins at the system's time, since files have that.
class ManualClock final : public StreamClock {
 public:
  Time now() const override { return begin_ + passed(); }
  int64_t wall_ns() const override { return wall_begin_ns_ + passed_ns_; }
  bool wait_until(Time time, std::stop_token stop) override {
    // Other threads run meanwhile, as they would during a wait.
    std::this_thread::yield();
    const int64_t until_ns = std::chrono::nanoseconds(time - begin_).count();
    for (int64_t before = passed_ns_; before < until_ns && !passed_ns_.compare_exchange_weak(before, until_ns);) {
    }
    ++waits_;
    return !stop.stop_requested();
  }

  void advance(std::chrono::nanoseconds time) { passed_ns_ += time.count(); }
  /// The time since the clock was made.
  std::chrono::nanoseconds passed() const { return std::chrono::nanoseconds(passed_ns_); }
  int64_t waits() const { return waits_; }

 private:
  const Time begin_ = StreamClock::real().now();
  const int64_t wall_begin_ns_ = StreamClock::real().wall_ns();
  std::atomic<int64_t> passed_ns_ = 0, waits_ = 0;
};

}  // namespace forebay
