#include "cluster/peer_health.h"

#include <algorithm>
#include <utility>

namespace forebay {

bool PeerHealth::may_ask(Time now) const {
  const Lock lock(mutex_);
  return well_ || (!trying_ && now >= until_);
}

bool PeerHealth::begin(Time now) {
  const Lock lock(mutex_);
  if (well_) return true;
  if (trying_ || now < until_) return false;
  trying_ = true;
  return true;
}

void PeerHealth::answered() {
  const Lock lock(mutex_);
  well_ = reached_ = true;
  trying_ = told_ = false;
  rest_ = kFirstRest;
}

void PeerHealth::abandoned() {
  const Lock lock(mutex_);
  trying_ = false;
}

bool PeerHealth::failed(Time now, bool there) {
  const Lock lock(mutex_);
  const bool news = std::exchange(well_, false);
  // Calls that were in flight together fail together, which counts as one failure.
  if (!news && !std::exchange(trying_, false)) return false;
  until_ = now + rest_;
  rest_ = std::min(2 * rest_, kLongestRest);
  reached_ |= there;
  if (!first_failure_) first_failure_ = now;
  return (reached_ || now - *first_failure_ >= kMayBeStarting) && !std::exchange(told_, true);
}

}  // namespace forebay
