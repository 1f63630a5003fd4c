#include "cluster/peer_pace.h"

#include <algorithm>

namespace forebay {

void PeerPace::answered(Time asked, Time now, uint64_t bytes, bool asked_all) {
  // Who brings nothing has waited for nobody.
  if (bytes == 0) return;
  const Time took = now - asked;
  quickest_ = std::min(quickest_, took);
  const Time waited = took - quickest_;
  if (waited > kTooLong) {
    // Those that were on their way together have waited for each other: that is told once.
    if (asked < lowered_) return;
    lowered_ = now;
    const double part = std::max(0.25, static_cast<double>(kTooLong.count()) / static_cast<double>(waited.count()));
    allowed_ = std::max(least_, static_cast<uint64_t>(static_cast<double>(allowed_) * part));
  } else if (asked_all && waited < kQuick) {
    // At first twice as much each time. Once it has been too much, a little more each time all that is allowed has come, since what many
    // who see the same allow themselves comes in one heap.
    const bool at_first = lowered_ == Time::min();
    allowed_ = std::min(most_, allowed_ + (at_first ? bytes : bytes * least_ / allowed_));
  }
}

void PeerPace::failed(Time now) {
  lowered_ = now;
  allowed_ = least_;
}

}  // namespace forebay
