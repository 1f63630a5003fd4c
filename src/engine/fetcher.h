#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "base/read_request.h"
#include "forebay/buffer.h"
#include "forebay/result.h"
#include "runtime/claim.h"
#include "store/request_slots.h"
#include "store/store.h"
#include "telemetry/step_counters.h"

namespace forebay {

struct FetcherOptions {
  int requests = 16;           ///< reads in flight, of each store
  bool find_requests = false;  ///< instead as many as a store serves best (Store::slots()), if it can tell
  int ranks = 1;               ///< that read from the same stores, each with slots of its own
};

/// One store as those see it who read from it. Guarded by the fetcher's owner, but for most().
class StoreLine {
 public:
  StoreLine(Store& store, const FetcherOptions& options);

  Store& store() const { return store_; }
  /// Reads that may be in flight, as of the last refresh().
  int limit() const { return limit_; }
  bool has_slot() const { return in_flight_ < limit_; }
  void refresh() { limit_ = most(); }
  /// Reads that may be in flight now. From any thread.
  int most() const { return share_ ? share_->limit() : requests_; }

  /// Bytes were at hand when they were asked for last (page cache, memory): the thread that needs them reads them itself.
  bool reads_now() const { return near_ && !cold_; }
  /// Whether to try that for the next read: now and then even where it failed before.
  bool try_now() { return near_ && (!cold_ || ++tries_ % kTry == 0); }
  /// What became of such a try.
  void found(bool cold) { cold_ = cold; }

 private:
  friend class Fetcher;
  static constexpr uint64_t kTry = 64;

  Store& store_;
  const bool near_;
  const int requests_;
  const std::unique_ptr<RequestSlots::Share> share_;  // null: requests_
  std::shared_ptr<void> reading_;
  int limit_ = 0;
  int in_flight_ = 0;
  bool cold_ = false;
  uint64_t tries_ = 0;
};

/// One read on its way. Made by whoever wants the bytes, as a shared_ptr; lives until it has landed.
class Flight : public std::enable_shared_from_this<Flight> {
 public:
  /// `bytes` is the memory for what comes. It is made larger on the way where the size is not known
  /// (ReadRequest::set_aside_bytes).
  Flight(StoreLine& line, ReadRequest request, Claim bytes)
      : line_(line), request_(std::move(request)), claim_(std::move(bytes)) {}
  virtual ~Flight() = default;
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  StoreLine& line() const { return line_; }
  const ReadRequest& request() const { return request_; }
  /// When it was sent (monotonic_ns()).
  int64_t begun_ns() const { return begun_ns_; }
  /// Takes the memory for what came, once it has landed. It belongs to the fetcher's owner, as the flight itself does.
  Claim take_claim();
  /// Returns how much memory that is now.
  uint64_t claimed_bytes() const;

 private:
  friend class Fetcher;
  /// The answer; called once, on any thread, without a lock. Has to lead to Fetcher::end().
  virtual void landed(Result<Buffer> result) = 0;
  /// Whether an object that is larger than its memory may have so much more, where the budget has it. From any thread.
  virtual bool may_take(uint64_t /*more*/) const { return true; }

  bool set_aside(uint64_t bytes);

  StoreLine& line_;
  ReadRequest request_;
  int64_t begun_ns_ = 0;
  mutable std::mutex mutex_;  ///< of what follows: a hedged request may ask for memory when another one has landed
  Claim claim_;
  bool has_landed_ = false;
  ConcurrencyControl::Sent sent_;
};
using FlightPtr = std::shared_ptr<Flight>;

/// The one way to storage while batches are made. Guarded by its owner's lock, but for send() and stop(), which lead to stores and
/// so to answers. It outlives its flights: whoever makes them sees to that.
class Fetcher {
 public:
  /// `counters`: of the step that reads; waiting time is added there. They outlive the fetcher.
  Fetcher(FetcherOptions options, StepCounters& counters) : options_(options), counters_(counters) {}

  /// The line of that store; the same for as long as the fetcher lives.
  StoreLine& line(Store& store);
  /// Asks all stores how many reads they serve best.
  void refresh();
  /// Reads in flight, of all stores.
  int in_flight() const { return in_flight_; }

  /// Takes a slot of the flight's line; send() follows.
  void begin(const Flight& flight);
  /// Asks the store. Without a lock: the answer may come from inside.
  void send(const FlightPtr& flight);
  /// Gives the slot back.
  void end(const Flight& flight);
  /// Nothing is read any more.
  void leave();
  /// What is in flight answers soon, with Cancelled if it is not there. Without a lock.
  void stop() { stop_.request_stop(); }

 private:
  const FetcherOptions options_;
  StepCounters& counters_;
  std::vector<std::unique_ptr<StoreLine>> lines_;
  int in_flight_ = 0;
  std::stop_source stop_;
};

}  // namespace forebay
