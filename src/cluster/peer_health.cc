#include "cluster/peer_health.h"

#include <algorithm>
#include <utility>

namespace forebay {

bool PeerHealth::may_ask(Time now) const {
  const Lock lock(mutex_);
  return healthy_ || (!probing_ && now >= backed_off_until_);
}

bool PeerHealth::try_begin(Time now) {
  const Lock lock(mutex_);
  if (healthy_) return true;
  if (probing_ || now < backed_off_until_) return false;
  probing_ = true;
  return true;
}

void PeerHealth::answered() {
  const Lock lock(mutex_);
  healthy_ = reached_ = true;
  probing_ = failure_logged_ = false;
  backoff_ = kFirstBackoff;
}

void PeerHealth::abandoned() {
  const Lock lock(mutex_);
  probing_ = false;
}

bool PeerHealth::failed(Time now, Contact contact) {
  const Lock lock(mutex_);
  const bool was_healthy = std::exchange(healthy_, false);
  // Calls that were in flight together fail together, which counts as one failure.
  if (!was_healthy && !std::exchange(probing_, false)) return false;
  backed_off_until_ = now + backoff_;
  backoff_ = std::min(2 * backoff_, kLongestBackoff);
  reached_ = reached_ || contact == Contact::kReached;
  if (!first_failure_) first_failure_ = now;
  return (reached_ || now - *first_failure_ >= kMayBeStarting) && !std::exchange(failure_logged_, true);
}

}  // namespace forebay
