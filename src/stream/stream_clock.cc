#include "stream/stream_clock.h"

#include "base/mutex.h"
#include "base/stoppable_cond_var.h"

namespace forebay {

int64_t StreamClock::wall_ns() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

bool StreamClock::wait_until(Time time, std::stop_token stop) {
  // Only a StoppableCondVar can wait with a stop token, and it needs a lock.
  Mutex mutex;
  StoppableCondVar nobody_notifies;
  Lock lock(mutex);
  nobody_notifies.wait_until(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

StreamClock& StreamClock::real() {
  static StreamClock clock;
  return clock;
}

}  // namespace forebay
