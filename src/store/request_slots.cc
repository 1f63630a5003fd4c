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

RequestSlots::Share::Share(std::shared_ptr<RequestSlots> slots, int processes) : slots_(std::move(slots)) {
  const Lock lock(slots_->mutex_);
  slots_->control_.divide_start_among(processes);
  ++slots_->users_;
}

RequestSlots::Share::~Share() {
  const Lock lock(slots_->mutex_);
  --slots_->users_;
}

int RequestSlots::Share::limit() const {
  const Lock lock(slots_->mutex_);
  // The caller is a user, so the divisor is never 0. Each user may have at least one request, even
  // if the total then exceeds the limit.
  return std::max(1, slots_->control_.limit() / slots_->users_);
}

ConcurrencyControl::Sent RequestSlots::Share::on_sent() {
  const Lock lock(slots_->mutex_);
  return slots_->control_.on_sent(now_ns());
}

void RequestSlots::Share::on_ended(const ConcurrencyControl::Sent& sent, bool ok) {
  const Lock lock(slots_->mutex_);
  slots_->control_.on_ended(sent, now_ns(), ok);
}

void RequestSlots::on_throttled() {
  const Lock lock(mutex_);
  control_.on_throttled();
}

int RequestSlots::limit() const {
  const Lock lock(mutex_);
  return control_.limit();
}

}  // namespace forebay
