#pragma once

#include <chrono>

namespace forebay {

/// Clock by which servers and clients measure waits. Tests pass a manual one, so that they neither
/// sleep nor depend on how fast they run. Any thread may call any function.
class WaitClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Milliseconds = std::chrono::milliseconds;

  virtual ~WaitClock() = default;
  virtual TimePoint now() const = 0;
  /// Begins a wait of at most `most`. Returns how long the caller has to block: `most` for the real
  /// clock; 0 for a manual one, which has advanced by `most` instead.
  virtual Milliseconds begin_wait(Milliseconds most) = 0;

  /// Returns the clock of the machine.
  static WaitClock& real();
};

}  // namespace forebay
