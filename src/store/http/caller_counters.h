#pragma once

#include <atomic>
#include <cstdint>

#include "store/http/retrying_caller.h"

namespace forebay {

/// Counters of attempts and their outcomes. They may be changed from any thread.
struct CallerCounters {
  std::atomic<uint64_t> attempts{0}, bytes{0}, retries_connection{0}, retries_status{0}, throttled{0}, timeouts{0},
      hedges{0}, hedges_won{0}, over_budget{0};

  /// Returns all of CallerStats except the calls and their time.
  CallerStats snapshot() const {
    const auto get = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    CallerStats stats;
    stats.attempts = get(attempts);
    stats.bytes = get(bytes);
    stats.retries_connection = get(retries_connection);
    stats.retries_status = get(retries_status);
    stats.retries = stats.retries_connection + stats.retries_status;
    stats.throttled = get(throttled);
    stats.timeouts = get(timeouts);
    stats.hedges = get(hedges);
    stats.hedges_won = get(hedges_won);
    stats.over_budget = get(over_budget);
    return stats;
  }
};

}  // namespace forebay
