#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace forebay {

/// What is decided while a run is under way, and why: the decisions that were made last, and what follows from them for the account of
/// the threads. All times are of one monotonic clock, in nanoseconds. Guarded by the run's lock.
class RunTuning {
 public:
  struct Decision {
    int64_t at_ns;
    std::string what;  ///< as in the options: "threads", "requests"
    int from, to;
    std::string reason;
  };
  static constexpr size_t kMost = 64;  ///< decisions that are kept

  RunTuning(int threads, int requests) : threads_(threads), requests_(requests) {}

  /// Compute threads that may work for the run at once.
  int threads() const { return threads_; }
  /// The first batch was asked for.
  void begin(int64_t now_ns) { since_ns_ = now_ns; }
  void set_threads(int64_t now_ns, int threads, std::string reason);
  /// So many may be in flight now. Those that differ by half from what was noted last are a decision: the rest is feeling the way.
  void see_requests(int64_t now_ns, int requests);

  /// The time that its threads had since begin(), each for itself.
  int64_t thread_ns(int64_t now_ns) const { return before_ns_ + threads_ * (now_ns - since_ns_); }
  /// The oldest first.
  const std::deque<Decision>& decisions() const { return decisions_; }

 private:
  void note(Decision decision);

  int threads_, requests_;
  int64_t since_ns_ = 0, before_ns_ = 0;
  std::deque<Decision> decisions_;
};

}  // namespace forebay
