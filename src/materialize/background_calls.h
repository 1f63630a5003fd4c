#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <stop_token>
#include <utility>

#include "study/trial.h"

namespace forebay {

/// Runs work such as calls to a bucket on a thread of its own. Meanwhile the calling thread polls
/// TrialContext::poll, so that a signal can end the work. A request to stop, or an exception of
/// poll(), requests a stop of `stop`. The work must then end soon; the exception is rethrown after
/// it has ended.
class BackgroundCalls {
 public:
  BackgroundCalls(const TrialContext& context, std::stop_source stop) : context_(context), stop_(std::move(stop)) {}

  template <typename Work>
  auto operator()(Work work) const {
    auto result = std::async(std::launch::async, std::move(work));
    wait(result);
    return result.get();
  }

  /// Waits until the result is ready. The destructor of a future of std::async waits, too.
  template <typename T>
  void wait(std::future<T>& result) const {
    while (result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) poll_caller();
  }

  /// Whether all work should end; request_stop() requests that.
  bool should_stop() const { return context_.stop.stop_requested() || stop_.stop_requested(); }
  void request_stop() const { stop_.request_stop(); }

 private:
  void poll_caller() const {
    if (context_.stop.stop_requested()) stop_.request_stop();
    if (!context_.poll) return;
    try {
      context_.poll();
    } catch (...) {
      stop_.request_stop();
      throw;
    }
  }

  const TrialContext& context_;
  mutable std::stop_source stop_;
};

}  // namespace forebay
