#include "cluster/patience.h"

#include <algorithm>

namespace forebay {

bool Patience::coming(Wait& wait, uint64_t left, Time now) {
  const Lock lock(mutex_);
  if (!wait.begun) {
    // While it is uncertain whether the host makes progress, only one caller waits.
    if (!makes_.begin(now)) return false;
    wait = {true, now, left};
    return true;
  }
  if (left < wait.left) {
    got_on_ = now;
    makes_.answered();
  }
  wait.left = left;
  // Any progress counts: the host may be busy with elements that precede this one.
  if (now - std::max(got_on_, wait.since) >= limits_.standstill) {
    (void)makes_.failed(now);
    return false;
  }
  if (now - wait.since < limits_.in_all) return true;
  makes_.abandoned();
  return false;
}

void Patience::decided(const Wait& wait, Time now) {
  if (!wait.begun) return;
  const Lock lock(mutex_);
  got_on_ = now;
  makes_.answered();
}

void Patience::abandoned(const Wait& wait) {
  if (wait.begun) makes_.abandoned();
}

std::chrono::nanoseconds pause_after(int times_asked) {
  return std::chrono::milliseconds(5) * (1 << std::clamp(times_asked - 1, 0, 5));
}

}  // namespace forebay
