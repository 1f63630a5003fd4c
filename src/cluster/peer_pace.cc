#include "cluster/peer_pace.h"

#include <algorithm>

namespace forebay {

void PeerPace::answered(Time sent_at, Time now, uint64_t bytes, bool fills_allowance) {
  // An answer without bytes tells nothing about the link.
  if (bytes == 0) return;
  const Time elapsed = now - sent_at;
  quickest_ = std::min(quickest_, elapsed);
  const Time waited = elapsed - quickest_;
  if (waited > kTooLong) {
    // Answers that were in flight together delayed each other: they lower the allowance once.
    if (sent_at < lowered_) return;
    lowered_ = now;
    const double part = std::max(0.25, static_cast<double>(kTooLong.count()) / static_cast<double>(waited.count()));
    allowed_ = std::max(least_, static_cast<uint64_t>(static_cast<double>(allowed_) * part));
  } else if (fills_allowance && waited < kQuick) {
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
