#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "store/http/http_caller.h"
#include "store/store.h"

namespace forebay {

struct CallerOptions {
  /// An error that may pass ends a call only after so many attempts, and not before it lasted `outage`: a server that
  /// is away for a few seconds is waited for.
  int attempts = 8;
  std::chrono::milliseconds outage{10'000};
  /// Where nothing ever answered (a name misspelt, a server that is not there) two attempts and this are enough.
  std::chrono::milliseconds first_outage{5'000};
  /// No attempt begins, or waits for its first byte, later than this after the first began.
  std::chrono::milliseconds deadline{44'000};
  std::chrono::milliseconds backoff{50}, longest_backoff{5'000};  ///< doubles; the wait is drawn from 0 to it
  std::chrono::milliseconds longest_retry_after{10'000};          ///< servers that ask for more get this
  /// So many of the calls may be tried again: each takes a token with its first retry. Those that were throttled and succeed in
  /// the end give it back.
  double retry_share = 0.2, retry_tokens = 2000;
  bool hedge = true;
  /// Of the reads no more than this share is sent a second time: the tokens of earlier ones, of which there are none at the start. So
  /// a cache's misses stay what storage is asked for, and second requests are for what is stuck and not for the slower ones in a queue.
  double hedge_quantile = 0.98, hedge_share = 0.01, hedge_tokens = 20;
  std::chrono::milliseconds hedge_after_at_least{20};
  std::function<void()> on_throttled = nullptr;  ///< for each answer that asks for fewer requests; must not block
  std::function<double()> random = nullptr;      ///< evenly from [0, 1), from any thread; null: a generator of its own
  bool manual_clock = false;                     ///< time goes on with RetryingCaller::advance() alone: for tests
};

/// Counters of one caller since it was made.
struct CallerStats {
  uint64_t calls = 0, attempts = 0, bytes = 0;
  uint64_t retries = 0;             ///< those after connection errors and after statuses together
  uint64_t retries_connection = 0;  ///< nothing, or not all, came
  uint64_t retries_status = 0;      ///< the answer was an error, or not what was asked for
  uint64_t throttled = 0;           ///< answers 429 and 503
  uint64_t timeouts = 0;            ///< attempts that waited too long
  uint64_t hedges = 0, hedges_won = 0;
  uint64_t over_budget = 0;  ///< errors that were not tried again since too many were
  double seconds = 0;        ///< summed over calls

  /// What a store tells of it.
  void add_to(StoreStats& stats) const;
};

/// The caller that talks to real servers. Judges an attempt's answer on the thread that brings it.
class RetryingCaller : public HttpCaller {
 public:
  virtual CallerStats stats() const = 0;
  /// Of its transport; null where that keeps nothing.
  virtual std::shared_ptr<KeptBytes> idle_memory() const = 0;
  /// Answers all calls in flight, and later ones (kCancelled). The destructor does it, too.
  virtual void close() = 0;
  /// Manual clocks: goes on and does what became due, on this thread.
  virtual void advance(std::chrono::nanoseconds by) = 0;
};

std::shared_ptr<RetryingCaller> retrying_caller(std::shared_ptr<HttpTransport> transport, CallerOptions options = {});

}  // namespace forebay
