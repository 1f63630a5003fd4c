#include "stream/pause.h"

#include <condition_variable>
#include <mutex>

namespace forebay {

bool pause_for(std::chrono::nanoseconds time, std::stop_token stop) {
  // Only condition_variable_any can wait with a stop token, and it needs a lock.
  std::mutex mutex;
  std::condition_variable_any nobody_notifies;
  std::unique_lock lock(mutex);
  nobody_notifies.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace forebay
