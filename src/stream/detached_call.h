#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "forebay/result.h"

namespace forebay {

/// Runs `work`, which cannot be interrupted (a library call that waits for a server), on a thread
/// of its own. Waits for the result until `deadline` (then Unavailable) or until a stop (then
/// Cancelled). After either, the thread continues and destroys `work` and its late result, so both
/// may refer only to what they own. `what` names the work in messages.
template <typename T>
Result<T> run_detached(std::function<Result<T>()> work, std::chrono::steady_clock::time_point deadline,
                       const std::stop_token& stop, const char* what) {
  struct Answer {
    Mutex mutex;
    StoppableCondVar given;
    std::optional<Result<T>> result FOREBAY_GUARDED_BY(mutex);
    bool given_up FOREBAY_GUARDED_BY(mutex) = false;
  };
  const auto answer = std::make_shared<Answer>();
  std::thread([answer, work = std::move(work)]() mutable {
    Result<T> result = work();
    work = nullptr;
    const Lock lock(answer->mutex);
    if (answer->given_up) return;
    answer->result.emplace(std::move(result));
    answer->given.notify_all();
  }).detach();
  Lock lock(answer->mutex);
  answer->given.wait_until(lock, stop, deadline,
                           [&]() FOREBAY_REQUIRES(answer->mutex) { return answer->result.has_value(); });
  if (answer->result) return *std::move(answer->result);
  answer->given_up = true;
  if (stop.stop_requested()) return cancelled(std::string("stopped while ") + what);
  return unavailable(std::string("no answer yet while ") + what);
}

/// Makes `parts` shared, with a destruction that runs on a thread of its own, because a library's
/// destructor may wait for a server that is gone. The last owner waits 200 ms for it at most.
template <typename T>
std::shared_ptr<T> with_detached_destruction(std::unique_ptr<T> parts) {
  return std::shared_ptr<T>(parts.release(), [](T* last) {
    const auto work = [last]() -> Result<bool> {
      delete last;
      return true;
    };
    (void)run_detached<bool>(work, std::chrono::steady_clock::now() + std::chrono::milliseconds(200), {}, "it ends");
  });
}

}  // namespace forebay
