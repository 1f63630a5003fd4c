#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>

#include "forebay/result.h"
#include "stream/stream_clock.h"

namespace forebay {

/// Delay before the next attempt to connect. It doubles with each attempt, up to a bound.
class Backoff {
 public:
  static constexpr std::chrono::milliseconds kFirst{20}, kLongest{2000};
  /// The delay before the next attempt.
  std::chrono::milliseconds next() {
    const auto wait = wait_;
    wait_ = std::min(wait_ * 2, kLongest);
    return wait;
  }
  void reset() { wait_ = kFirst; }

 private:
  std::chrono::milliseconds wait_ = kFirst;
};

/// Calls `ask`, and calls it again while it returns Unavailable, for `patience` at most or until a
/// stop. Returns its last result.
template <typename Ask>
auto retry_until_available(Ask ask, std::chrono::seconds patience, StreamClock& clock, const std::stop_token& stop) {
  Backoff backoff;
  const StreamClock::Time end = clock.now() + patience;
  while (true) {
    auto answer = ask();
    const bool again = answer.status().code() == Code::kUnavailable && clock.now() < end;
    if (!again || !clock.wait_for(backoff.next(), stop)) return answer;
  }
}

}  // namespace forebay
