#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stream/decision.h"

namespace forebay {

/// Is told of every decision, in order, once it is decided.
///
/// The stream calls all methods under its lock, so they never wait.
class DecisionWitness {
 public:
  virtual ~DecisionWitness() = default;
  virtual void decided(const Decision& decision) = 0;
  /// The run, of StreamOptions::from_now, begins behind these offsets.
  virtual void begins(const std::vector<std::string>& /*after*/) {}
  /// No decision follows the last one, which ended in front of record `first`.
  virtual void ended(int64_t /*first*/) {}
  /// Whether one more decision may be decided now. The witness's owner calls Stream::look_again()
  /// when that changes.
  virtual bool may_decide() { return true; }
  /// The reason why none may be decided, for the log.
  virtual std::string awaited() const { return {}; }
};

}  // namespace forebay
