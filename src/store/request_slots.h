#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "store/concurrency_control.h"

namespace forebay {

/// How many requests the users of one store have in flight, together. Shared by all loaders of the process that read from that
/// store, which divide it evenly. May be used from any thread.
class RequestSlots {
 public:
  explicit RequestSlots(ConcurrencyLimits limits = {}) : control_(limits) {}

  /// One user's share, for as long as it lives.
  class Share {
   public:
    /// `processes`: of the job, with slots of their own each (ConcurrencyControl::begin_among()).
    explicit Share(std::shared_ptr<RequestSlots> slots, int processes = 1);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Requests that this user may have in flight now.
    int limit() const;
    /// A request went out; give what it returns to ended().
    ConcurrencyControl::Sent sent();
    /// It came back: with what was asked for, or not (then its time says nothing).
    void ended(const ConcurrencyControl::Sent& sent, bool ok);

   private:
    const std::shared_ptr<RequestSlots> slots_;
  };

  /// The store said that it gets too many requests (503, 429).
  void throttled();
  int limit() const;

 private:
  mutable std::mutex mutex_;
  ConcurrencyControl control_;
  int users_ = 0;
};

}  // namespace forebay
