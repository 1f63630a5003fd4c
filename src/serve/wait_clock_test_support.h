#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "serve/wait_clock.h"

namespace forebay::serve_test {

/// A clock whose time passes only in advance() and in waits, which do not block.
class ManualClock final : public WaitClock {
 public:
  ManualClock() = default;
  /// Calls `on_wait` after each wait, on the thread that waits, with the time that has passed. So a
  /// test says what happens at which time.
  explicit ManualClock(std::function<void(Milliseconds)> on_wait) : on_wait_(std::move(on_wait)) {}

  TimePoint now() const override { return TimePoint(Milliseconds(ms_.load())); }
  Milliseconds begin_wait(Milliseconds most) override {
    ++waits_;
    advance(most);
    if (on_wait_) on_wait_(passed());
    return Milliseconds(0);
  }
  void advance(Milliseconds by) { ms_ += by.count(); }
  /// Returns the time since the clock was made, waits included.
  Milliseconds passed() const { return Milliseconds(ms_.load() - kBegin); }
  int waits() const { return waits_; }

 private:
  static constexpr int64_t kBegin = 1'000'000;  // not 0, which default time points have
  std::atomic<int64_t> ms_ = kBegin;
  std::atomic<int> waits_ = 0;
  const std::function<void(Milliseconds)> on_wait_;
};

}  // namespace forebay::serve_test
