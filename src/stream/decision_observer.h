#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stream/decision.h"

namespace forebay {

/// Receives every decision of a stream, in order, as soon as it is made. A journal records the
/// decisions; a StreamService sends them to other ranks, and can hold up further ones.
///
/// The stream shares it, and calls all methods under its lock, so they must not wait.
class DecisionObserver {
 public:
  virtual ~DecisionObserver() = default;
  virtual void decided(const Decision& decision) = 0;
  /// A run of StreamOptions::from_now begins after these offsets.
  virtual void begins(const std::vector<std::string>& /*after*/) {}
  /// The stream has ended before record `first`: no further decision follows.
  virtual void ended(int64_t /*first*/) {}
  /// Whether one more decision may be made now. The observer's owner calls Stream::look_again()
  /// when that changes.
  virtual bool may_decide() { return true; }
  /// The reason why no decision may be made, for the user's log.
  virtual std::string awaited() const { return {}; }
};

}  // namespace forebay
