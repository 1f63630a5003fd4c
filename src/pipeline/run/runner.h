#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "pipeline/execution_plan.h"
#include "pipeline/foreign.h"
#include "pipeline/itinerary.h"
#include "pipeline/run/runner_options.h"
#include "pipeline/run/window.h"

namespace forebay {

/// Executes a plan for one consumer: it makes the batches of a step source in order and works on a
/// bounded window of them at once.
///
/// A batch is divided into tasks, usually one for each row. A task waits for memory of the budget,
/// is fetched, passes the stages and writes its rows into the batch. Tasks finish in any order. The
/// oldest unfinished task always gets its memory: younger ones are revoked, and fetched again
/// later.
///
/// One mutex (in RunCore) guards all bookkeeping. Reading, decoding and user code run without it.
/// Compute threads never wait for storage, user code or memory. next_for() and seek() must be
/// called by one thread at a time; all other methods may be called from any thread.
class Runner {
 public:
  /// The run uses threads and memory of `engine`, which it shares with other runs until it is
  /// closed.
  Runner(std::shared_ptr<Engine> engine, ExecutionPlan plan, std::shared_ptr<StepSource> steps, RunnerOptions options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  using Delivery = forebay::Delivery;
  /// Waits for the batch at cursor() and delivers it. After a data error the cursor is past the
  /// batch that has the error. After any other error it stays, so that the batch can be asked for
  /// again.
  Result<Delivery> next_for(std::chrono::milliseconds timeout);

  /// The start of the next batch. After a seek() to the end of an epoch it is that place.
  Cursor cursor() const;
  /// Continues at another place. All work for the former place is dropped.
  void seek(const Cursor& at);
  /// Notifies the run that its step source knows more steps, or has failed. From any thread.
  void notify_steps_changed();
  /// Stops the run and waits until nothing is in flight. A user's function that does not return
  /// within RunnerOptions::patience stays on its thread, and the log names it.
  void close();
  bool closed() const;

  /// Waits for a call of user code. Null on time-out and after close().
  std::shared_ptr<ForeignCall> take_call(std::chrono::milliseconds timeout) { return core_.calls.take(timeout); }

  struct Stats {
    ByteBudget::Snapshot memory;
    std::vector<int64_t> branch_samples;  ///< delivered samples by branch
    int64_t batches = 0, samples = 0, reclaimed = 0;
    Waits::Parts waits_ns{};             ///< waits of the consumer, by Awaited
    ThreadTime::Parts threads_ns{};      ///< wall time of the compute threads, by Work
    ThreadTime::Parts threads_cpu_ns{};  ///< CPU time of the compute threads, by Work
    int64_t threads_idle_cpu_ns = 0;     ///< CPU time of looking for work
    int threads = 0;                     ///< compute threads that may work for the run at once
    // Times since the first next_for():
    int64_t all_threads_ns = 0;  ///< elapsed time, summed over the threads
    std::deque<RunTuning::Decision> decisions;
    int64_t elapsed_ns = 0;  ///< until now, or until close()
  };
  Stats stats() const;
  /// How often each chunk of the source was decoded so far. Empty if rows are read one by one.
  std::vector<uint32_t> decodes() const;
  const RunnerOptions& options() const { return core_.options; }
  /// Reads that may be in flight now.
  int request_limit() const { return core_.current_read_limit(); }

 private:
  Status open_threads() FOREBAY_REQUIRES(core_.mutex);
  void follow_host();
  void use_threads(int64_t now_ns, int threads, int cores) FOREBAY_REQUIRES(core_.mutex);
  /// Waits until a batch can be delivered or the run is closed. Returns false on time-out.
  bool wait(RunCore::Lock& lock, std::chrono::milliseconds timeout) FOREBAY_REQUIRES(core_.mutex);
  Delivery report_time_out() FOREBAY_REQUIRES(core_.mutex);
  void reset_wait() FOREBAY_REQUIRES(core_.mutex);
  /// Stops all work and waits for work in flight. Returns false if it has not ended within the
  /// patience.
  bool stop_work(RunCore::Lock& lock) FOREBAY_REQUIRES(core_.mutex);
  void abandon_threads() FOREBAY_REQUIRES(core_.mutex);

  const uint64_t generation_;
  std::shared_ptr<Engine> engine_ FOREBAY_GUARDED_BY(core_.mutex);  // null after close()
  const std::shared_ptr<Window> window_;
  RunCore& core_;
  int64_t next_follow_ns_ = 0;                 // time of the next follow_host(); used by the consumer's thread only
  int cores_ FOREBAY_GUARDED_BY(core_.mutex);  // cores of the engine at the last follow_host()
  int64_t begun_ns_ FOREBAY_GUARDED_BY(core_.mutex) = 0;  // time of the first next_for(); 0 before it
  std::optional<ThreadTime::Look> at_close_ FOREBAY_GUARDED_BY(core_.mutex);
  int64_t waited_ns_ FOREBAY_GUARDED_BY(core_.mutex) = 0;  // by the consumer, for the batch at cursor()
  bool long_wait_logged_ FOREBAY_GUARDED_BY(core_.mutex) = false;
  bool abandoned_ FOREBAY_GUARDED_BY(core_.mutex) = false;  // a compute thread did not return within the patience
};

}  // namespace forebay
