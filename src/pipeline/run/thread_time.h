#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/clock.h"

namespace forebay {

class Trace;

/// What a compute thread does for a run.
enum class Work : uint8_t {
  kRows,      ///< reading what is at hand, operators, writing rows into their batch
  kChunks,    ///< decoding row groups, and operators on them
  kAssembly,  ///< putting batches together
  kPlan,      ///< finding out which rows come next
  kEngine,    ///< the engine's own: taking note of what was done, deciding what is next, waiting for the run's lock
};
constexpr size_t kWorks = 5;

/// Time of the compute threads at work for one run, to the nanosecond: wall time with that of what they are at just now, and CPU time of
/// what has ended. Wall time beyond CPU time was spent waiting: for a core, a lock, a mapped file. Any thread.
class ThreadTime {
 public:
  using Clock = int64_t (*)();  ///< nanoseconds since some moment
  explicit ThreadTime(Clock clock = monotonic_ns) : clock_(clock) {}

  void begin(Work what);
  /// `cpu_ns`: that the thread took for what it did until now.
  void change(Work from, Work to, int64_t cpu_ns);
  void end(Work what, int64_t cpu_ns);
  /// CPU time of a thread between tasks, before one of this run.
  void add_idle_cpu(int64_t cpu_ns);

  using Parts = std::array<int64_t, kWorks>;
  struct Look {
    int64_t at_ns = 0;
    Parts parts{};  ///< nanoseconds until then, by Work
    Parts cpu{};
    int64_t idle_cpu = 0;
  };
  Look look() const;

 private:
  const Clock clock_;  // read with the lock held, or a look could be older than what it sees
  mutable std::mutex mutex_;
  Parts ended_less_begun_{};  // for those that are at it, what they have done so far is now × their number more
  std::array<int64_t, kWorks> at_it_{};
  Parts cpu_{};
  int64_t idle_cpu_ = 0;
};

/// A task on a compute thread, from its beginning to its end.
class Spell {
 public:
  /// `trace`: what is told of it, if that is wanted; `about`: what it works on (run_trace.h).
  Spell(ThreadTime& time, Work what, std::shared_ptr<Trace> trace = nullptr, uint64_t about = 0);
  ~Spell();
  Spell(const Spell&) = delete;
  Spell& operator=(const Spell&) = delete;

  /// The task of that run on this thread, if it runs one, is at something else until its end.
  static void change(const ThreadTime& time, Work to);

 private:
  void tell();
  int64_t cpu_ns_until_now();

  ThreadTime& time_;
  Work what_;
  const std::shared_ptr<Trace> trace_;
  const uint64_t about_;
  int64_t since_ns_ = 0;
  int64_t cpu_since_ns_ = 0;
  Spell* const outer_;  // user code may run tasks of another loader from inside of one
};

}  // namespace forebay
