#pragma once

#include <algorithm>
#include <chrono>

namespace forebay {

/// Delay before the next attempt to connect. It doubles with each attempt, up to a bound.
class Backoff {
 public:
  static constexpr std::chrono::milliseconds kFirst{20}, kMost{2000};
  /// The delay before the next attempt.
  std::chrono::milliseconds next() {
    const auto wait = wait_;
    wait_ = std::min(wait_ * 2, kMost);
    return wait;
  }
  void reset() { wait_ = kFirst; }

 private:
  std::chrono::milliseconds wait_ = kFirst;
};

}  // namespace forebay
