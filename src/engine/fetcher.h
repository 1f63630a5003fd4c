#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/mutex.h"
#include "base/read_request.h"
#include "forebay/buffer.h"
#include "forebay/result.h"
#include "runtime/claim.h"
#include "store/request_slots.h"
#include "store/store.h"
#include "telemetry/step_counters.h"

namespace forebay {

struct FetcherOptions {
  int requests = 16;  ///< reads in flight to each store
  /// Uses as many requests as the store serves best (Store::slots()), if it can tell.
  bool find_requests = false;
  /// Ranks that read from the same stores, each with slots of its own.
  int ranks = 1;
};

/// The request slots of one loader at one store: how many reads may be in flight, and how many are.
/// Owned by the Fetcher, whose owner's lock guards every method except current_limit().
class StoreSlots {
 public:
  StoreSlots(Store& store, const FetcherOptions& options);

  Store& store() const { return store_; }
  /// Limit of reads in flight, as of the last refresh().
  int limit() const { return limit_; }
  bool has_slot() const { return in_flight_ < limit_; }
  void refresh() { limit_ = current_limit(); }
  /// Limit of reads in flight now. May be called from any thread.
  int current_limit() const { return share_ ? share_->limit() : requests_; }

  /// Whether bytes are expected in memory or in the page cache, because the last attempt found them
  /// there. If so, the thread that needs them reads them itself.
  bool expects_page_cache_hit() const { return can_read_now_ && last_try_hit_; }
  /// Counts a read, and returns whether it should first try the page cache. After a failed attempt
  /// only every kRetryInterval-th read does.
  bool should_try_page_cache() { return can_read_now_ && (last_try_hit_ || ++reads_after_miss_ % kRetryInterval == 0); }
  /// Records the result of such an attempt.
  void record_try(bool hit) { last_try_hit_ = hit; }

 private:
  friend class Fetcher;
  static constexpr uint64_t kRetryInterval = 64;

  Store& store_;
  const bool can_read_now_;  // Store::reads_now()
  const int requests_;
  const std::unique_ptr<RequestSlots::Share> share_;  // null: the limit is requests_
  std::shared_ptr<void> reading_;                     // result of Store::begin_reading(), until Fetcher::leave()
  int limit_ = 0;
  int in_flight_ = 0;
  bool last_try_hit_ = true;
  uint64_t reads_after_miss_ = 0;  // while the last attempt failed
};

/// One read that is sent or about to be. The caller that wants the bytes makes it as a shared_ptr;
/// it lives until on_result() has returned.
class PendingRead : public std::enable_shared_from_this<PendingRead> {
 public:
  /// `bytes` is the memory for the result. It grows during the read if the size is not known
  /// (ReadRequest::set_aside_bytes).
  /// `counters` are those of the step that reads; waiting time is added there. They outlive the
  /// read.
  PendingRead(StoreSlots& slots, ReadRequest request, Claim bytes, StepCounters& counters)
      : slots_(slots), request_(std::move(request)), counters_(counters), claim_(std::move(bytes)) {}
  virtual ~PendingRead() = default;
  PendingRead(const PendingRead&) = delete;
  PendingRead& operator=(const PendingRead&) = delete;

  StoreSlots& slots() const { return slots_; }
  const ReadRequest& request() const { return request_; }
  /// Time at which it was sent (monotonic_ns()).
  int64_t begun_ns() const { return begun_ns_; }
  /// Takes the claim on the result's memory once there is a result. No request gets more memory
  /// afterwards. Called by the fetcher's owner.
  Claim take_claim();

 private:
  friend class Fetcher;
  /// Receives the result. Called once, on any thread, without a lock. Must lead to Fetcher::end().
  virtual void on_result(Result<Buffer> result) = 0;
  /// Whether an object larger than its memory may take `more` bytes, if the budget has them. May be
  /// called from any thread.
  virtual bool may_take(uint64_t /*more*/) const { return true; }

  bool set_aside(uint64_t bytes);

  StoreSlots& slots_;
  ReadRequest request_;
  StepCounters& counters_;
  int64_t begun_ns_ = 0;
  /// Needed because a hedged request may ask for memory after the other one was answered.
  Mutex mutex_;
  Claim claim_ FOREBAY_GUARDED_BY(mutex_);
  bool has_ended_ FOREBAY_GUARDED_BY(mutex_) = false;
  ConcurrencyControl::Sent sent_;  ///< of the thread that sends, then of the one that answers
};
using PendingReadPtr = std::shared_ptr<PendingRead>;

/// The only access to storage while batches are made. Guarded by its owner's lock, except send()
/// and stop(), which call stores and may lead to results. Code that makes a read keeps the fetcher
/// alive until the read has ended.
class Fetcher {
 public:
  explicit Fetcher(FetcherOptions options) : options_(options) {}

  /// The slots of that store. Valid as long as the fetcher.
  StoreSlots& slots_of(Store& store);
  /// Updates the limit of every store.
  void refresh();
  /// Reads in flight to all stores.
  int in_flight() const { return in_flight_; }

  /// Takes a slot of the read's store. Must be followed by send().
  void begin(const PendingRead& read);
  /// Sends the request. Call it without a lock, because the store may answer before it returns.
  void send(const PendingReadPtr& read);
  /// Returns the slot.
  void end(const PendingRead& read);
  /// Ends reading: stores may forget what they remember for this loader. Nothing may be sent after
  /// it.
  void leave();
  /// Makes reads in flight answer soon, with Cancelled if their bytes are not there yet. Call it
  /// without a lock.
  void stop() { stop_.request_stop(); }

 private:
  const FetcherOptions options_;
  std::vector<std::unique_ptr<StoreSlots>> slots_;
  int in_flight_ = 0;
  std::stop_source stop_;
};

}  // namespace forebay
