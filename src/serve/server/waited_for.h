#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace forebay {

/// How long somebody has been waited for of late: all of the time, less a tenth of what went by in between. So it stays short for
/// whoever is as fast as the others and behind now and then, and grows for whoever is slower by more than a tenth.
class WaitedFor {
 public:
  using Clock = std::chrono::steady_clock;

  void begin(Clock::time_point now) {
    if (since_) return;
    waited_ = std::max(waited_ - (now - until_) / 10, Clock::duration::zero());
    since_ = now;
  }
  void end(Clock::time_point now) {
    if (!since_) return;
    waited_ = until(now);
    since_.reset();
    until_ = now;
  }
  Clock::duration until(Clock::time_point now) const { return since_ ? waited_ + (now - *since_) : waited_; }

 private:
  Clock::duration waited_{};
  Clock::time_point until_{};
  std::optional<Clock::time_point> since_;
};

}  // namespace forebay
