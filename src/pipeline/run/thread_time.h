#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/mutex.h"

namespace forebay {

class Trace;

/// Kinds of work that compute threads do for a run.
enum class Work : uint8_t {
  kRows,      ///< reading from memory or page cache, operators, writing rows into batches
  kChunks,    ///< decoding chunks, and operators on them
  kAssembly,  ///< assembling batches
  kPlan,      ///< planning the rows of the next batches
  kEngine,    ///< the engine's own work: bookkeeping, decisions, waiting for the run's lock
};
constexpr size_t kWorks = 5;

/// Time that compute threads have worked for one run, by kind of work. Wall time includes the work
/// in progress; CPU time is that of finished work. The difference between wall time and CPU time
/// was spent waiting for a core, a lock or a mapped file. WorkTimer calls it on compute threads,
/// and snapshots may be taken from any thread.
class ThreadTime {
 public:
  using Clock = int64_t (*)();  ///< monotonic nanoseconds
  explicit ThreadTime(Clock clock = monotonic_ns) : clock_(clock) {}

  /// begin(), change() and end() return the time at which they count.
  int64_t begin(Work what);
  /// `cpu_ns`: CPU time that the work `from` took.
  int64_t change(Work from, Work to, int64_t cpu_ns);
  int64_t end(Work what, int64_t cpu_ns);
  /// Adds CPU time that a thread spent between its last task and one of this run.
  void add_idle_cpu(int64_t cpu_ns);

  using Parts = std::array<int64_t, kWorks>;
  struct Look {
    int64_t at_ns = 0;
    Parts parts{};  ///< wall time until `at_ns`, by Work
    Parts cpu{};    ///< CPU time, by Work
    int64_t idle_cpu = 0;
  };
  Look look() const;

 private:
  const Clock clock_;  // read with the lock held, so that a look is not older than its figures
  mutable Mutex mutex_;
  // Sum of end times less sum of begin times. Work in progress lacks its end time, so that its wall
  // time is added as active_ × now.
  Parts ended_less_begun_ FOREBAY_GUARDED_BY(mutex_){};
  std::array<int64_t, kWorks> active_ FOREBAY_GUARDED_BY(mutex_){};
  Parts cpu_ FOREBAY_GUARDED_BY(mutex_){};
  int64_t idle_cpu_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

/// Measures a task on a compute thread, from its start to its end. Lives on that thread.
class WorkTimer {
 public:
  /// `trace` gets the task's slices; null if the run is not traced. `trace_id`: see run_trace.h.
  WorkTimer(ThreadTime& time, Work what, std::shared_ptr<Trace> trace = nullptr, uint64_t trace_id = 0);
  ~WorkTimer();
  WorkTimer(const WorkTimer&) = delete;
  WorkTimer& operator=(const WorkTimer&) = delete;

  /// If this thread runs a task of that run, the task's time counts as `to` from now on.
  static void change(const ThreadTime& time, Work to);

 private:
  void write_slice(int64_t end_ns);
  int64_t cpu_ns_until_now();

  ThreadTime& time_;
  Work what_;
  const std::shared_ptr<Trace> trace_;
  const uint64_t about_;
  int64_t since_ns_ = 0;  // a slice lasts as long as `time_` counts
  int64_t cpu_since_ns_ = 0;
  WorkTimer* const outer_;  // of an outer task: user code may run tasks of another loader
};

}  // namespace forebay
