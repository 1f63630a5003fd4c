#include "store/request_slots.h"

#include <algorithm>
#include <utility>

namespace forebay {

namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int RequestSlots::Share::limit() const {
  const std::lock_guard lock(slots_->mutex_);
  const int others = slots_->active_ - (in_flight_ > 0 ? 1 : 0);
  return std::max(1, slots_->control_.limit() / (others + 1));
}

ConcurrencyControl::Sent RequestSlots::Share::sent() {
  const std::lock_guard lock(slots_->mutex_);
  if (in_flight_++ == 0) ++slots_->active_;
  return slots_->control_.sent(now_ns());
}

void RequestSlots::Share::ended(const ConcurrencyControl::Sent& sent, bool ok) {
  const std::lock_guard lock(slots_->mutex_);
  if (--in_flight_ == 0) --slots_->active_;
  slots_->control_.ended(sent, now_ns(), ok);
}

void RequestSlots::throttled() {
  const std::lock_guard lock(mutex_);
  control_.throttled();
}

int RequestSlots::limit() const {
  const std::lock_guard lock(mutex_);
  return control_.limit();
}

}  // namespace forebay
