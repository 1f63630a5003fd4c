#pragma once

#include <chrono>
#include <cstdint>

namespace forebay {

/// How many bytes a host may be asked for at once: as many as keep the way to it busy, and no more, or answers would wait for each other until
/// each of them is late. It is found by asking: more while all that is allowed comes quickly, less when an answer has waited on its way.
/// What one host allows itself is little where many ask the same one, since all see the same delay.
///
/// Used under its owner's lock.
class PeerPace {
 public:
  using Time = std::chrono::nanoseconds;  ///< of any one clock
  /// Waiting on the way, beyond what the quickest answer took: that is too long, and up to that there may be more.
  static constexpr Time kTooLong = std::chrono::milliseconds(300), kQuick = std::chrono::milliseconds(150);

  PeerPace(uint64_t least, uint64_t first, uint64_t most) : least_(least), most_(most), allowed_(first) {}

  uint64_t allowed() const { return allowed_; }
  /// `asked_all`: about as much as is allowed was on its way.
  void answered(Time asked, Time now, uint64_t bytes, bool asked_all);
  /// Nobody knows what it could give now.
  void failed(Time now);

 private:
  const uint64_t least_, most_;
  uint64_t allowed_;
  Time quickest_ = Time::max(), lowered_ = Time::min();
};

}  // namespace forebay
