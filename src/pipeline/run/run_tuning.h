#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace forebay {

/// The numbers of threads and requests of a run, which change while it runs, and the last decisions
/// with their reasons, for stats(). All times are nanoseconds of one monotonic clock. RunCore owns
/// it; the run's lock guards it.
class RunTuning {
 public:
  struct Decision {
    int64_t at_ns;
    std::string what;  ///< name of the option: "threads" or "requests"
    int from, to;
    std::string reason;
  };
  static constexpr size_t kMost = 64;  ///< number of decisions that are remembered

  RunTuning(int threads, int requests) : threads_(threads), requests_(requests) {}

  /// Compute threads that may work for the run at once.
  int threads() const { return threads_; }
  /// Called when the first batch is asked for.
  void begin(int64_t now_ns) { since_ns_ = now_ns; }
  void set_threads(int64_t now_ns, int threads, std::string reason);
  /// Reports how many reads may be in flight now. It is recorded as a decision only if it differs
  /// by half from the last one, since the control tries smaller changes all the time.
  void record_requests(int64_t now_ns, int requests);

  /// Time since begin(), summed over the threads.
  int64_t thread_ns(int64_t now_ns) const { return before_ns_ + threads_ * (now_ns - since_ns_); }
  /// The remembered decisions, the oldest first.
  const std::deque<Decision>& decisions() const { return decisions_; }

 private:
  void note(Decision decision);

  int threads_, requests_;
  int64_t since_ns_ = 0, before_ns_ = 0;
  std::deque<Decision> decisions_;
};

}  // namespace forebay
