#include "stream/stream_clock.h"

#include <condition_variable>
#include <mutex>

namespace forebay {

int64_t StreamClock::wall_ns() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

bool StreamClock::wait_until(Time time, std::stop_token stop) {
  // Only condition_variable_any can wait with a stop token, and it needs a lock.
  std::mutex mutex;
  std::condition_variable_any nobody_notifies;
  std::unique_lock lock(mutex);
  nobody_notifies.wait_until(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

StreamClock& StreamClock::real() {
  static StreamClock clock;
  return clock;
}

}  // namespace forebay
