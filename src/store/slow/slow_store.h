#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "store/store.h"

namespace forebay {

/// How the link behaves that a slow store imitates.
struct SlowOptions {
  uint64_t seed = 0;
  double latency_ms = 0;             ///< before every answer
  double jitter_ms = 0;              ///< up to so much more, evenly spread
  double bandwidth_bytes_per_s = 0;  ///< of one request; 0: no limit
  double error_rate = 0;             ///< share of requests that answer Unavailable
  bool manual_clock = false;  ///< time stands still except in SlowStore::advance(): for tests that need not sleep
};

/// A store behind a slow, unreliable link. The delay and the fate of a request are a function of (seed, key, how
/// often the key was asked for): the same on every run, whatever the threads do. One thread serves all delays;
/// read_now() never answers, since nothing here is near.
class SlowStore : public Store {
 public:
  /// Lets the manual clock go on, and gives the answers that became due, in order of time, on this thread.
  virtual void advance(std::chrono::nanoseconds by) = 0;
  /// Delay of request number `asked` (from 0) for `key` that gives `bytes` bytes.
  virtual std::chrono::nanoseconds delay(std::string_view key, uint32_t asked, uint64_t bytes) const = 0;
  virtual bool fails(std::string_view key, uint32_t asked) const = 0;
};

/// Keeps `inner` alive. From any thread, as every store; with a manual clock nothing answers but through advance().
std::shared_ptr<SlowStore> slow_store(std::shared_ptr<Store> inner, SlowOptions options);

}  // namespace forebay
