#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/mutex.h"

namespace forebay {

/// Tracks whether a host is worth calling. It is only advice and never an input of the plan. A host
/// that fails is backed off: for one second, and for twice as long after each further failure, up
/// to kLongestBackoff. After that one request probes it, and only the answer to that request lets
/// others through. Methods may be called from any thread.
class PeerHealth {
 public:
  using Time = std::chrono::nanoseconds;  ///< of any one clock
  static constexpr Time kFirstBackoff = std::chrono::seconds(1), kLongestBackoff = std::chrono::seconds(30),
                        kMayBeStarting = std::chrono::seconds(10);

  /// Returns whether a call is worth trying now. Changes nothing.
  bool may_ask(Time now) const;
  /// Like may_ask(), for a caller that is about to call: while a backed off host is probed, only
  /// one caller gets true.
  bool try_begin(Time now);
  void answered();
  /// The probing caller will not call after all; another may.
  void abandoned();
  /// Whether the host of a failed call was reached.
  enum class Contact : uint8_t { kUnreached, kReached };
  /// Records a failure. Returns true if the caller should log it: once, until the host answers
  /// again. The failures of a host that was never reached, and may still be starting, are logged
  /// only after kMayBeStarting.
  bool failed(Time now, Contact contact = Contact::kUnreached);

 private:
  mutable Mutex mutex_;
  bool healthy_ FOREBAY_GUARDED_BY(mutex_) = true;
  bool probing_ FOREBAY_GUARDED_BY(mutex_) = false;  ///< a request is probing the host
  bool reached_ FOREBAY_GUARDED_BY(mutex_) = false;
  bool failure_logged_ FOREBAY_GUARDED_BY(mutex_) = false;  ///< failures since the last answer have been logged
  Time backed_off_until_ FOREBAY_GUARDED_BY(mutex_){0};
  Time backoff_ FOREBAY_GUARDED_BY(mutex_) = kFirstBackoff;
  std::optional<Time> first_failure_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
