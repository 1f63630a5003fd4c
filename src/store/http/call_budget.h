#pragma once

#include <algorithm>

#include "base/mutex.h"

namespace forebay {

/// Limits to a share of all calls an action that costs the server more, such as a retry or a hedged
/// request. Every call earns `share` of a token, up to `capacity`. The budget begins full, or with
/// `begins_with` tokens. Methods may be called from any thread.
class CallBudget {
 public:
  CallBudget(double share, double capacity) : CallBudget(share, capacity, capacity) {}
  CallBudget(double share, double capacity, double begins_with)
      : share_(share), capacity_(capacity), tokens_(begins_with) {}

  void earn() { add(share_); }
  void give_back() { add(1); }
  bool take() {
    const Lock lock(mutex_);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  bool empty() const {
    const Lock lock(mutex_);
    return tokens_ < 1;
  }

 private:
  void add(double tokens) {
    const Lock lock(mutex_);
    tokens_ = std::min(tokens_ + tokens, capacity_);
  }

  const double share_, capacity_;
  mutable Mutex mutex_;
  double tokens_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
