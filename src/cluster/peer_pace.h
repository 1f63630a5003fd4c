#pragma once

#include <chrono>
#include <cstdint>

namespace forebay {

/// Finds how many bytes may be requested from a host at once: enough to keep the link busy, but not
/// so many that responses queue until each is late. The allowance grows while full use of it brings
/// quick answers, and falls when a response was delayed on its way. If many hosts call the same
/// peer, all of them see the same delay, so each has a small allowance.
///
/// The class is not thread-safe: its owner's lock guards it.
class PeerPace {
 public:
  using Time = std::chrono::nanoseconds;  ///< of any one clock
  /// Delay beyond the quickest answer: above kTooLong the allowance falls, below kQuick it may
  /// grow.
  static constexpr Time kTooLong = std::chrono::milliseconds(300), kQuick = std::chrono::milliseconds(150);

  PeerPace(uint64_t least, uint64_t first, uint64_t most) : least_(least), most_(most), allowed_(first) {}

  uint64_t allowed() const { return allowed_; }
  /// Records an answer. `fills_allowance`: about as much as allowed was in flight.
  void answered(Time sent_at, Time now, uint64_t bytes, bool fills_allowance);
  /// Records a failed call: the allowance falls to the least, because the host's speed is now
  /// unknown.
  void failed(Time now);

 private:
  const uint64_t least_, most_;
  uint64_t allowed_;
  Time quickest_ = Time::max(), lowered_ = Time::min();
};

}  // namespace forebay
