#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace forebay {

/// Whether a host is worth asking: advice, and never an input of the plan. One that failed is left out, first for a second, then for twice
/// as long after each further failure; after that one request finds out, and only its answer brings back the others. May be
/// used from any thread.
class PeerHealth {
 public:
  using Time = std::chrono::nanoseconds;  ///< of any one clock
  static constexpr Time kFirstRest = std::chrono::seconds(1), kLongestRest = std::chrono::seconds(30);

  /// Whether asking is worth trying now; changes nothing.
  bool may_ask(Time now) const;
  /// The same for whoever is about to ask: of those who come while it is being found out, one gets true.
  bool begin(Time now);
  void answered();
  /// Who was to find out does not come to it; somebody else may.
  void abandoned();
  /// True where that is news: it was well before.
  bool failed(Time now);

 private:
  mutable std::mutex mutex_;
  bool well_ = true;
  bool trying_ = false;  ///< one finds out
  Time until_{0}, rest_ = kFirstRest;
};

}  // namespace forebay
