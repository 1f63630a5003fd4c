#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>

namespace forebay {

/// The time, and waits that a stop ends. This class is the system's clock; tests derive another one
/// whose time they set. May be used from any thread.
class StreamClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~StreamClock() = default;
  virtual Time now() const { return std::chrono::steady_clock::now(); }
  /// Nanoseconds since 1970, as local file systems count them.
  virtual int64_t wall_ns() const;
  /// Waits until that time. Returns false at once if a stop is requested.
  virtual bool wait_until(Time time, std::stop_token stop);
  bool wait_for(std::chrono::nanoseconds time, std::stop_token stop) {
    return wait_until(now() + time, std::move(stop));
  }

  /// The system's clock.
  static StreamClock& real();
};

}  // namespace forebay
