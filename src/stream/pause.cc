#include "stream/pause.h"

#include "base/mutex.h"
#include "base/stoppable_cond_var.h"

namespace forebay {

bool pause_for(std::chrono::nanoseconds time, std::stop_token stop) {
  // Only condition_variable_any can wait with a stop token, and it needs a lock.
  Mutex mutex;
  StoppableCondVar nobody_notifies;
  Lock lock(mutex);
  nobody_notifies.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace forebay
