#include "cluster/peer_pace.h"

#include <algorithm>

namespace forebay {

void PeerPace::answered(Time asked, Time now, uint64_t bytes, bool asked_all) {
  // An answer without bytes tells nothing about the link.
  if (bytes == 0) return;
  const Time took = now - asked;
  quickest_ = std::min(quickest_, took);
  const Time waited = took - quickest_;
  if (waited > kTooLong) {
    // Answers that were in flight together delayed each other: they lower the allowance once.
    if (asked < lowered_) return;
    lowered_ = now;
    const double part = std::max(0.25, static_cast<double>(kTooLong.count()) / static_cast<double>(waited.count()));
    allowed_ = std::max(least_, static_cast<uint64_t>(static_cast<double>(allowed_) * part));
  } else if (asked_all && waited < kQuick) {
    // The allowance doubles until it was too large once. After that it grows a little each time all
    // of it has arrived, because many hosts that see the same delay raise theirs at the same time.
    const bool at_first = lowered_ == Time::min();
    allowed_ = std::min(most_, allowed_ + (at_first ? bytes : bytes * least_ / allowed_));
  }
}

void PeerPace::failed(Time now) {
  lowered_ = now;
  allowed_ = least_;
}

}  // namespace forebay
