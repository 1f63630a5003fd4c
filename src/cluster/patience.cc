#include "cluster/patience.h"

#include <algorithm>

namespace forebay {

bool Patience::announced(Wait& wait, uint64_t work_left, Time now) {
  const Lock lock(mutex_);
  if (!wait.started) {
    // While it is uncertain whether the host makes progress, only one caller waits.
    if (!progress_health_.try_begin(now)) return false;
    wait = {true, now, work_left};
    return true;
  }
  if (work_left < wait.work_left) {
    last_progress_ = now;
    progress_health_.answered();
  }
  wait.work_left = work_left;
  // Any progress counts: the host may be busy with elements that precede this one.
  if (now - std::max(last_progress_, wait.since) >= limits_.standstill) {
    (void)progress_health_.failed(now);
    return false;
  }
  if (now - wait.since < limits_.total) return true;
  progress_health_.abandoned();
  return false;
}

void Patience::decided(const Wait& wait, Time now) {
  if (!wait.started) return;
  const Lock lock(mutex_);
  last_progress_ = now;
  progress_health_.answered();
}

void Patience::abandoned(const Wait& wait) {
  if (wait.started) progress_health_.abandoned();
}

std::chrono::nanoseconds retry_delay(int attempts) {
  return std::chrono::milliseconds(5) * (1 << std::clamp(attempts - 1, 0, 5));
}

}  // namespace forebay
