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

/// Makes the batches of an itinerary, in order, working on a bounded window of them at once: what its one consumer sees of a run.
///
/// A batch is divided into tasks (usually a row each). A task waits for bytes of the budget, is fetched, goes through the
/// stages and writes its rows into their places in the batch; it may finish in any order. The oldest unfinished task always
/// gets its bytes: younger ones give theirs back and are fetched again.
///
/// One mutex (RunCore) guards all bookkeeping; reading, decoding and user code run outside it. Compute threads never wait for
/// storage, user code or memory. next_for() and seek() belong to one thread at a time; everything else may be called from any.
class Runner {
 public:
  /// Threads and memory are those of `engine`, which it shares with others until it is closed.
  Runner(std::shared_ptr<Engine> engine, std::shared_ptr<const ExecutionPlan> plan, std::shared_ptr<StepSource> steps,
         RunnerOptions options);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  using Delivery = forebay::Delivery;
  /// The batch at cursor(). An error of data is delivered in its place in the order, and the batch it spoils is left behind;
  /// any other error leaves the cursor where it is, so that the batch can be asked for again.
  Result<Delivery> next_for(std::chrono::milliseconds timeout);

  /// Where the next batch begins; after a seek() to where an epoch has none left, that place.
  Cursor cursor() const;
  /// Goes on somewhere else; work that does not fit there is thrown away.
  void seek(const Cursor& at);
  /// More of the itinerary is known than when it was asked, or that no more will be. From any thread.
  void look_again();
  /// Stops, and waits until nothing is in flight; what does not end within the patience is left behind on its thread, and
  /// named in the log.
  void close();
  bool closed() const;

  /// Waits for a call of user code. Null on time-out and after close().
  std::shared_ptr<ForeignCall> take_call(std::chrono::milliseconds timeout) { return core_.calls.take(timeout); }

  struct Stats {
    ByteBudget::Snapshot memory;
    int64_t batches = 0, samples = 0, retracted = 0;
    Waits::Parts waits_ns{};         ///< of the consumer, by Awaited
    ThreadTime::Parts threads_ns{};  ///< of the compute threads, by Work
    ThreadTime::Parts threads_cpu_ns{};
    int64_t threads_idle_cpu_ns = 0;
    int threads = 0;                            ///< that may work for it at once
    int64_t all_threads_ns = 0;                 ///< that they had since the first batch was asked for, each for itself
    std::deque<RunTuning::Decision> decisions;  ///< times since the first batch was asked for
    int64_t elapsed_ns = 0;                     ///< from the first batch that was asked for to the close
  };
  Stats stats() const;
  /// How often each chunk of the source was decoded so far; empty where rows are read one by one.
  std::vector<uint32_t> decodes() const;
  const RunnerOptions& options() const { return core_.options; }
  /// Reads that may be in flight now.
  int request_limit() const { return core_.line != nullptr ? core_.line->most() : core_.options.requests; }

 private:
  Status open_threads();
  void follow_host();
  void use_threads(int64_t now_ns, int threads, int cores);
  /// Until there is something to deliver, or the run is closed. False: timed out.
  bool wait(RunCore::Lock& lock, std::chrono::milliseconds timeout);
  Delivery nothing_yet();
  void forget_wait();
  void abandon_threads();

  const uint64_t generation_;
  std::shared_ptr<Engine> engine_;  // null once it is closed
  const std::shared_ptr<Window> window_;
  RunCore& core_;
  int64_t next_look_ns_ = 0;  // at the host; of the consumer
  // Guarded by the run's lock:
  int cores_;             // that the engine had at the last look
  int64_t begun_ns_ = 0;  // when the first batch was asked for; 0: not yet
  std::optional<ThreadTime::Look> at_close_;
  int64_t waited_ns_ = 0;  // by the consumer, for the batch at cursor()
  bool long_wait_told_ = false;
  bool abandoned_ = false;  // a compute thread did not come back
};

}  // namespace forebay
