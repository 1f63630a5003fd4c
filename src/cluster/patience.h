#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "cluster/peer_health.h"

namespace forebay {

struct PatienceLimits {
  std::chrono::nanoseconds standstill = std::chrono::seconds(2);  ///< so long a host may get no further
  std::chrono::nanoseconds in_all = std::chrono::seconds(30);     ///< for one thing
};

/// Whether to go on waiting for what a host has said that it will make. It is waited for while the host gets on, whatever it makes: a host that
/// stands still is not expected to make anything for a while (as one that failed, PeerHealth), and then one question finds out. May be
/// used from any thread.
class Patience {
 public:
  using Time = PeerHealth::Time;
  explicit Patience(PatienceLimits limits) : limits_(limits) {}

  /// What is waited for.
  struct Wait {
    bool begun = false;
    Time since{0};
    uint64_t left = 0;  ///< as the host said last
  };
  /// The host says that it will make this, and how much it does before. False: it is not worth waiting for any longer.
  bool coming(Wait& wait, uint64_t left, Time now);
  /// The host says that it is there, or that it will not be: it got on.
  void decided(const Wait& wait, Time now);
  /// Nobody waits for it any longer.
  void abandoned(const Wait& wait);

 private:
  const PatienceLimits limits_;
  std::mutex mutex_;
  PeerHealth makes_;
  Time got_on_{0};
};

/// How long to wait before asking again for what was asked for so many times: 5 ms, twice as long each time, 160 ms at most.
std::chrono::nanoseconds pause_after(int times_asked);

}  // namespace forebay
