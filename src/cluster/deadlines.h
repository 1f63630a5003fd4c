#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>

#include "store/timer.h"

namespace forebay {

/// Ends requests that take too long in all, however many bytes trickle in: they are asked to stop. May be used from any thread.
///
/// One point in time is waited for, not one for each request, so it is meant for requests that are given about the same time: one with
/// less, behind others, may get as much as they.
class Deadlines {
 public:
  /// Asks `stop` to stop once `after` has passed, if anybody holds it by then.
  void add(const std::shared_ptr<std::stop_source>& stop, std::chrono::milliseconds after);
  void close() { timer_.close(); }

 private:
  struct Entry {
    Timer::Time when;
    std::weak_ptr<std::stop_source> stop;
  };
  void fire();

  std::mutex mutex_;
  std::deque<Entry> entries_;
  bool waits_ = false;
  Timer timer_{/*manual=*/false};  // last: its thread uses the rest
};

}  // namespace forebay
