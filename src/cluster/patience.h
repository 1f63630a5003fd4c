#pragma once

#include <chrono>
#include <cstdint>

#include "base/mutex.h"
#include "cluster/peer_health.h"

namespace forebay {

struct PatienceLimits {
  /// A host that makes no progress for this time is considered stalled.
  std::chrono::nanoseconds standstill = std::chrono::seconds(2);
  std::chrono::nanoseconds total = std::chrono::seconds(30);  ///< longest wait for one entry
};

/// Decides how long to wait for entries that another host has announced. A caller waits for an
/// entry as long as that host makes progress with any work. A host that stalls is backed off (see
/// PeerHealth); after that, one request probes whether it makes progress again. Methods may be
/// called from any thread.
class Patience {
 public:
  using Time = PeerHealth::Time;
  explicit Patience(PatienceLimits limits) : limits_(limits) {}

  /// State of the wait for one entry.
  struct Wait {
    bool started = false;
    Time since{0};
    uint64_t work_left = 0;  ///< work before the entry, as the host last reported it
  };
  /// Records that the host announces the entry, with `work_left` work before it. Returns whether
  /// the caller should go on waiting; if not, the wait is over.
  [[nodiscard]] bool announced(Wait& wait, uint64_t work_left, Time now);
  /// The host has the entry, or will not have it: either way it made progress.
  void decided(const Wait& wait, Time now);
  /// The caller stops waiting for the entry.
  void abandoned(const Wait& wait);

 private:
  const PatienceLimits limits_;
  PeerHealth progress_health_;  ///< has a lock of its own
  Mutex mutex_;
  Time last_progress_ FOREBAY_GUARDED_BY(mutex_){0};
};

/// Returns the pause before the next request for an entry that was requested `attempts` times: 5
/// ms, doubled each time, at most 160 ms.
std::chrono::nanoseconds retry_delay(int attempts);

}  // namespace forebay
