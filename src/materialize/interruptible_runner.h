#pragma once

#include <chrono>
#include <future>
#include <stop_token>
#include <utility>

#include "study/trial.h"

namespace forebay {

/// Runs blocking work (calls to a bucket) on another thread while the calling thread calls
/// `context.poll` regularly, so that a signal can end the work. If `context.stop` is requested, or
/// poll() throws, a stop of `work_stop` is requested. The work has its token and must then end
/// soon; an exception of poll() is rethrown after it has ended. `context` must outlive this object.
class InterruptibleRunner {
 public:
  InterruptibleRunner(const TrialContext& context, std::stop_source work_stop)
      : context_(context), work_stop_(std::move(work_stop)) {}

  /// Returns what `work` returns.
  template <typename Work>
  auto run(Work work) const {
    auto result = std::async(std::launch::async, std::move(work));
    wait(result);
    return result.get();
  }

  /// Waits until `result` is ready, and polls meanwhile. If poll() throws, the destructor of the
  /// future still waits for the work, which holds for futures of std::async only.
  template <typename T>
  void wait(std::future<T>& result) const {
    while (result.wait_for(kPollInterval) != std::future_status::ready) poll_caller();
  }

  /// For work that run() did not start, such as a write beside the making of the next shard.
  bool should_stop() const { return context_.stop.stop_requested() || work_stop_.stop_requested(); }
  void request_stop() const { work_stop_.request_stop(); }

 private:
  static constexpr std::chrono::milliseconds kPollInterval{50};

  void poll_caller() const {
    if (context_.stop.stop_requested()) work_stop_.request_stop();
    if (!context_.poll) return;
    try {
      context_.poll();
    } catch (...) {
      work_stop_.request_stop();
      throw;
    }
  }

  const TrialContext& context_;
  mutable std::stop_source work_stop_;
};

}  // namespace forebay
