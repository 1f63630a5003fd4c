#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace forebay {

/// Whether a host is worth asking: advice, and never an input of the plan. One that failed is left out, first for a second, then for twice
/// as long after each further failure; after that one request finds out, and only its answer brings back the others. May be
/// used from any thread.
class PeerHealth {
 public:
  using Time = std::chrono::nanoseconds;  ///< of any one clock
  static constexpr Time kFirstRest = std::chrono::seconds(1), kLongestRest = std::chrono::seconds(30),
                        kMayBeStarting = std::chrono::seconds(10);

  /// Whether asking is worth trying now; changes nothing.
  bool may_ask(Time now) const;
  /// The same for whoever is about to ask: of those who come while it is being found out, one gets true.
  bool begin(Time now);
  void answered();
  /// Who was to find out does not come to it; somebody else may.
  void abandoned();
  /// True where that is to be told: once, until it has answered again. `there`: it was reached, so that it is not just to come. A host that never was may be
  /// starting still, and is told of when it has failed for kMayBeStarting.
  bool failed(Time now, bool there = false);

 private:
  mutable std::mutex mutex_;
  bool well_ = true;
  bool trying_ = false;  ///< one finds out
  bool reached_ = false;
  bool told_ = false;  ///< of failures since the last answer
  Time until_{0}, rest_ = kFirstRest;
  std::optional<Time> first_failure_;
};

}  // namespace forebay
