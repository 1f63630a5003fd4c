#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace forebay {

/// Measures how long others have recently waited for one client: the sum of the waits, less a tenth
/// of the time between them. The sum stays small for a client that is as fast as the others and is
/// late now and then. It grows for a client that is slower by more than a tenth.
class Lateness {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins a wait. Does nothing during a wait.
  void begin_wait(Clock::time_point now) {
    if (since_) return;
    waited_ = std::max(waited_ - (now - ended_) / 10, Clock::duration::zero());
    since_ = now;
  }
  /// Ends the wait, if there is one.
  void end_wait(Clock::time_point now) {
    if (!since_) return;
    waited_ = total(now);
    since_.reset();
    ended_ = now;
  }
  /// Returns the sum at `now`, the current wait included.
  Clock::duration total(Clock::time_point now) const { return since_ ? waited_ + (now - *since_) : waited_; }

 private:
  Clock::duration waited_{};
  Clock::time_point ended_{};
  std::optional<Clock::time_point> since_;
};

}  // namespace forebay
