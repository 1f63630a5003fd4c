#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "store/store.h"

namespace forebay {

/// Behaviour of the link that a slow store imitates.
struct SlowOptions {
  uint64_t seed = 0;
  double latency_ms = 0;             ///< before every answer
  double jitter_ms = 0;              ///< random part on top, evenly distributed
  double bandwidth_bytes_per_s = 0;  ///< for one request; 0: no limit
  double error_rate = 0;             ///< share of requests answered Unavailable
  /// For tests that must not sleep: time passes only in SlowStore::advance().
  bool manual_clock = false;
};

/// A store behind a slow, unreliable link. Delay and failure of a request depend only on the seed,
/// the key and how often the key was requested, so they are the same on every run, whatever the
/// threads do. One thread serves all delays. read_now() never answers, because every read has a
/// delay.
class SlowStore : public Store {
 public:
  /// Advances the manual clock and gives the answers that are due, in order of time, on this
  /// thread.
  virtual void advance(std::chrono::nanoseconds by) = 0;
  /// Returns the delay of request number `asked` (from 0) for `key` that returns `bytes` bytes.
  virtual std::chrono::nanoseconds delay(std::string_view key, uint32_t asked, uint64_t bytes) const = 0;
  virtual bool fails(std::string_view key, uint32_t asked) const = 0;
};

/// Makes a slow store, which keeps `inner` alive. Methods may be called from any thread. With a
/// manual clock all answers come from advance().
std::shared_ptr<SlowStore> slow_store(std::shared_ptr<Store> inner, SlowOptions options);

}  // namespace forebay
