#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "store/concurrency_control.h"

namespace forebay {

/// Limits the requests in flight to one store. All loaders of the process that read from the store
/// share the object and divide the limit evenly. Methods may be called from any thread.
class RequestSlots {
 public:
  explicit RequestSlots(ConcurrencyLimits limits = {}) : control_(limits) {}

  /// One user's share. The user counts as long as it lives.
  class Share {
   public:
    /// `processes`: the number of processes of the job, each of which has its own slots
    /// (ConcurrencyControl::divide_start_among()).
    explicit Share(std::shared_ptr<RequestSlots> slots, int processes = 1);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Returns how many requests this user may have in flight now.
    int limit() const;
    /// Records that a request was sent. Pass the result to ended().
    ConcurrencyControl::Sent on_sent();
    /// Records that the request ended. `ok`: it succeeded; otherwise its time is ignored.
    void on_ended(const ConcurrencyControl::Sent& sent, bool ok);

   private:
    const std::shared_ptr<RequestSlots> slots_;
  };

  /// Records that the store refused a request as too many (503, 429).
  void on_throttled();
  int limit() const;

 private:
  mutable Mutex mutex_;
  ConcurrencyControl control_ FOREBAY_GUARDED_BY(mutex_);
  int users_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay
