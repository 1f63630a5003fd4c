#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "store/http/http_caller.h"
#include "store/store.h"

namespace forebay {

struct CallerOptions {
  /// A transient error ends a call only after this many attempts, and not before `outage` has
  /// passed: the caller waits for a server that is unavailable for a few seconds.
  int attempts = 8;
  std::chrono::milliseconds outage{10'000};
  /// If the server never answered (a misspelt name, no such server), two attempts and this time are
  /// enough.
  std::chrono::milliseconds first_outage{5'000};
  /// No attempt begins, or waits for its first byte, later than this after the first began.
  std::chrono::milliseconds deadline{44'000};
  /// The backoff doubles after each attempt; the pause is drawn evenly from 0 to it.
  std::chrono::milliseconds backoff{50}, longest_backoff{5'000};
  /// A longer Retry-After is cut to this.
  std::chrono::milliseconds longest_retry_after{10'000};
  /// Share of calls that may be retried. Each call takes a token with its first retry. A call that
  /// was throttled and succeeds in the end returns its token.
  double retry_share = 0.2, retry_tokens = 2000;
  bool hedge = true;
  /// At most this share of reads is hedged, from tokens that earlier reads earned; at the start
  /// there are none. So hedging adds little to the load of storage, and serves reads that are stuck
  /// rather than the slower ones in a queue.
  double hedge_quantile = 0.98, hedge_share = 0.01, hedge_tokens = 20;
  std::chrono::milliseconds hedge_after_at_least{20};
  /// Called for each answer that asks for fewer requests. Must not block.
  std::function<void()> on_throttled = nullptr;
  /// Returns numbers evenly from [0, 1), from any thread; null: the caller's own generator.
  std::function<double()> random = nullptr;
  /// For tests: time passes only in RetryingCaller::advance().
  bool manual_clock = false;
};

/// Counters of one caller since it was made.
struct CallerStats {
  uint64_t calls = 0, attempts = 0, bytes = 0;
  uint64_t retries = 0;             ///< after connection errors and after statuses together
  uint64_t retries_connection = 0;  ///< the answer did not come, or not completely
  uint64_t retries_status = 0;      ///< the answer was an error, or not as requested
  uint64_t throttled = 0;           ///< answers 429 and 503
  uint64_t timeouts = 0;            ///< attempts that exceeded a time limit
  uint64_t hedges = 0, hedges_won = 0;
  uint64_t over_budget = 0;  ///< errors not retried because too many calls were
  double seconds = 0;        ///< summed over calls

  /// Adds the counters to a store's.
  void add_to(StoreStats& stats) const;
};

/// The caller for real servers. It judges an attempt's answer on the thread that delivers it.
class RetryingCaller : public HttpCaller {
 public:
  virtual CallerStats stats() const = 0;
  /// Returns the idle memory of its transport; null if there is none.
  virtual std::shared_ptr<ReclaimableMemory> idle_memory() const = 0;
  /// Answers all calls in flight, and later ones, with kCancelled. The destructor does the same.
  virtual void close() = 0;
  /// For manual clocks: advances the clock and runs on this thread what is due.
  virtual void advance(std::chrono::nanoseconds by) = 0;
};

/// Makes a caller that sends its attempts over `transport`.
std::shared_ptr<RetryingCaller> retrying_caller(std::shared_ptr<HttpTransport> transport, CallerOptions options = {});

}  // namespace forebay
