#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/fetcher.h"
#include "forebay/batch.h"
#include "pipeline/batch_job.h"
#include "pipeline/execution_plan.h"
#include "pipeline/field_forms.h"
#include "pipeline/foreign_calls.h"
#include "pipeline/itinerary.h"
#include "pipeline/row_work.h"
#include "pipeline/unit_table.h"
#include "pipeline/unit_work.h"
#include "runtime/buffer_pool.h"
#include "runtime/byte_budget.h"
#include "runtime/executor.h"

namespace forebay {

struct RunnerOptions {
  int threads = 1;
  bool own_threads = false;    ///< beside those that loaders share whose users gave no number
  int requests = 16;           ///< reads in flight
  bool find_requests = false;  ///< instead as many as the store serves best (Store::slots()), if it can tell
  int64_t window_batches = 3;  ///< batches worked on at once
  uint64_t memory = 0;         ///< bytes for everything between storage and the user
  uint64_t memory_least = 0;   ///< of these, without which no batch is made
  /// Of what all loaders have together whose users gave no memory: theirs is divided, and where it cannot hold a sample it is
  /// raised as far as this. 0: `memory` is what the user gave.
  uint64_t memory_together = 0;
  std::function<uint64_t()> memory_bound = {};  ///< what is enough for every batch, where that can be known: for errors
  uint64_t window_bytes = 0;  ///< what the batches of the window take: units of later ones leave so much alone
  uint64_t ahead_bytes = 0;   ///< of these, for what is fetched ahead of the window
  uint64_t working_bytes_per_thread = 0;  ///< of these, kept for each compute thread
  BadSample bad_sample = BadSample::kRaise;
  std::set<std::string> ragged = {};            ///< fields of user code that are (values, offsets) in every batch
  std::chrono::milliseconds long_wait{30'000};  ///< a wait of the consumer that is worth a line in the log
  std::chrono::milliseconds patience{5'000};    ///< of close() with a function of the user that does not return
};

/// The engine: makes the batches of an itinerary, in order, working on a bounded window of them at once. Behind the window
/// lie batches whose samples are only fetched, as far ahead as storage needs to be kept busy.
///
/// A batch is divided into tasks (usually a row each). A task waits for bytes of the budget, is fetched, goes through the
/// stages and writes its rows into their places in the batch; it may finish in any order. The oldest unfinished task always
/// gets its bytes: younger ones give theirs back and are fetched again.
///
/// One mutex guards all bookkeeping; reading, decoding and user code run outside it. Compute threads never wait for storage,
/// user code or memory. next_for() and seek() belong to one thread at a time; everything else may be called from any.
/// Always made as a shared_ptr: reads in flight keep it alive.
class Runner : public std::enable_shared_from_this<Runner> {
 public:
  /// Threads and memory are those of `engine`, which it shares with others until it is closed.
  Runner(std::shared_ptr<Engine> engine, std::shared_ptr<const ExecutionPlan> plan,
         std::shared_ptr<const Itinerary> itinerary, RunnerOptions options);
  ~Runner();

  struct Delivery {
    std::optional<Batch> batch;  ///< nothing: timed out, or no step is left at all
    bool timed_out = false;
    std::vector<RowError> errors;  ///< samples of this batch that were skipped or replaced
  };
  /// The batch at cursor(). An error of data is delivered in its place in the order, and the batch it spoils is left behind;
  /// any other error leaves the cursor where it is, so that the batch can be asked for again.
  Result<Delivery> next_for(std::chrono::milliseconds timeout);

  /// Where the next batch begins; after a seek() to where an epoch has none left, that place.
  Cursor cursor() const;
  /// Goes on somewhere else; work that does not fit there is thrown away.
  void seek(const Cursor& at);
  /// Stops, and waits until nothing is in flight; what does not end within the patience is left behind on its thread, and
  /// named in the log.
  void close();
  bool closed() const;

  /// Waits for a call of user code. Null on time-out and after close().
  std::shared_ptr<ForeignCall> take_call(std::chrono::milliseconds timeout) { return calls_.take(timeout); }

  struct Stats {
    ByteBudget::Snapshot memory;
    int64_t batches = 0, samples = 0, retracted = 0;
    double consumer_wait_seconds = 0;
  };
  Stats stats() const;
  /// How often each unit of the source was decoded so far; empty where rows are read one by one.
  std::vector<uint32_t> decodes() const;
  const RunnerOptions& options() const { return options_; }
  /// Reads that may be in flight now.
  int request_limit() const { return line_ ? line_->most() : options_.requests; }

 private:
  enum class TaskState : uint8_t {
    kPending,   // nothing is held
    kFetching,  // a read is in flight
    kReady,     // can be computed once bytes allow
    kQueued,    // posted to the executor, or running there
    kForeign,   // with user code
    kDone,
  };
  struct Task : RowInput {
    TaskState state = TaskState::kPending;
    uint64_t ticket = 0;             // a call of user code that comes back with another one is stale
    const Flight* flight = nullptr;  // the read whose answer is wanted
    Claim claim;                     // of what was fetched, and of values that wait for the batch
    uint64_t needs = 0;              // working memory beyond the thread's own that it asked for
    Claim grant;                     // of that
    // Where rows come from units:
    size_t block = 0;    // in Job::blocks
    UnitBlockPtr wider;  // in its place, where stand-ins come from elsewhere
    bool uses = false;   // counted in UnitBlock::users
    bool pins = false;   // and in UnitBlock::pins
    Buffer copied;       // lists that were taken out of their units, because the job outlasts these

    uint64_t held_bytes() const { return claim.bytes() + (flight != nullptr ? flight->claim.bytes() : 0); }
  };
  struct Job {
    Job(const ExecutionPlan& plan, const Itinerary& itinerary, StepPlan step)
        : batch(plan, itinerary, std::move(step)) {}
    BatchJob batch;
    uint64_t sequence = 0;
    std::vector<Task> tasks;
    std::vector<UnitBlockPtr> blocks;  // that its rows stand in, oldest first in each lane
    std::vector<uint32_t>
        rows_by_block;        // what the tasks' rows are numbers in; empty: rows stand block by block already
    bool straddles = false;   // several blocks of one lane: the older one is let go of before the job is done
    size_t done = 0;          // tasks
    size_t first = 0;         // those before it are done
    size_t pending_from = 0;  // none before this one is pending
    size_t untouched = 0;     // this one and those behind it are pending
    size_t queued = 0;        // tasks that a compute thread may touch
    bool retracting = false;  // gives everything back as soon as no compute thread is in it
    bool dropped = false;     // not in the window any more
    bool assembling = false;
    bool complete = false;
    std::optional<Batch> made;

    const UnitBlockPtr& block_of(const Task& task) const { return task.wider ? task.wider : blocks[task.block]; }
    RowPlacement placement(const Task& task) const {
      return {blocks.empty() ? nullptr : block_of(task).get(), rows_by_block, straddles};
    }
  };
  using JobPtr = std::shared_ptr<Job>;
  using Lock = std::unique_lock<std::mutex>;
  /// What has to happen outside the lock.
  struct Actions {
    std::vector<std::function<void()>> posts;
    std::vector<FlightPtr> flights;

    bool empty() const { return posts.empty() && flights.empty(); }
  };
  class RowFlight;
  class UnitFlight;
  class Call;

  /// What became of a task that could perhaps be moved on.
  enum class Step : uint8_t { kMoved, kNoSlot, kNoBytes };

  // runner_schedule.cc: who gets bytes, threads and requests. All with the lock held.
  void pump(Actions& actions);
  void extend_window(Actions& actions);
  void plan_batches();
  JobPtr make_job(StepPlan step);
  bool window_is_short() const;
  // Large batches are planned by a compute thread: thousands of ids take longer than the consumer, or the lock, should be held up.
  bool plans_elsewhere() const { return itinerary_->schedule().options().batch_size >= 1024; }
  int64_t batches_ahead() const;
  bool move_oldest(Actions& actions);
  Step start(const JobPtr& job, Task& task, Actions& actions);
  bool fetch_ahead(const JobPtr& job, Actions& actions);
  Step compute(const JobPtr& job, Task& task, Actions& actions);
  bool reserve_slots(const JobPtr& job, const Task& task);
  bool finish_job(const JobPtr& job, Actions& actions);
  void take_batch(const JobPtr& job, Result<Batch> batch);
  bool is_oldest(const JobPtr& job, const Task* task) const;
  bool is_front(const JobPtr& job) const { return !window_.empty() && window_.front() == job; }
  bool anything_running() const;
  // A short queue is enough to keep the threads busy, and leaves memory to those who are older.
  bool threads_full() const { return queued_ >= 2 * options_.threads + 2; }
  // Nothing waits for storage by itself: what is fetched is in the page cache, or nothing is fetched.
  bool reads_on_compute_threads() const { return !plan_->fetches || (line_ && line_->reads_now()); }
  int read_limit() const { return line_ ? line_->limit() : options_.requests; }
  static uint64_t priority(const Job& job, size_t task) { return job.sequence << 24 | task; }
  void run_actions(Lock& lock, Actions actions = {});
  void pump_on_a_thread(JobPtr taken_apart = nullptr);

  // runner_memory.cc: who gives bytes back for whom. All with the lock held.
  bool make_room(const JobPtr& job, const Task* task, uint64_t bytes);
  void retract(const JobPtr& job);
  void settle(const JobPtr& job);
  void reset_task(Job& job, Task& task);
  uint64_t joined_bytes(const Job& job) const;
  void drop_bytes(Task& task);
  void drop_window();
  Status never_fits(const JobPtr& job, const Task* task, uint64_t bytes, uint64_t least) const;
  Status units_never_fit(const JobPtr& job, const Task& task, uint64_t unit_bytes, uint64_t least) const;
  Status with_enough(Status status) const;

  // runner_tasks.cc: a task's reads, its turn on a compute thread, and what comes after that.
  void issue_read(const JobPtr& job, Task& task, Actions& actions);
  void on_read(RowFlight& flight, Result<Buffer> result);
  bool claim_actual(Task& task, Claim claim, const Result<Buffer>& result);
  void work(const JobPtr& job, size_t task, WorkMemory& memory);
  void sample_failed(const JobPtr& job, Task& task, Status status, Actions& actions);
  void after_work(const JobPtr& job, Task& task, RowResult result, Actions& actions);
  bool hold_values(Job& job, Task& task, uint64_t* needs_bytes);
  void finish_task(const JobPtr& job, Task& task);

  // runner_foreign.cc: user code.
  void queue_call(const JobPtr& job, Task& task);
  void on_answer(const JobPtr& job, size_t task, uint64_t ticket, Status status, const Schema& schema, Record record);

  // runner_blocks.cc: which blocks of units a batch needs, and for how long.
  void plan_units(Job& job);
  void use_block(Job& job, Task& task);
  void pin_block(Job& job, Task& task);
  void unpin_block(Job& job, Task& task);
  void leave_block(Job& job, Task& task);
  void leave_blocks(Job& job);
  void widen_block(Job& job, Task& task, const std::vector<int64_t>& ids);
  void forget_wider(Job& job, Task& task);
  bool block_waits(const Job& job, const Task& task) const;

  // runner_shared_units.cc: units that other runs have, or are at work on.
  bool others_have(const std::shared_ptr<Unit>& unit, const JobPtr& job, const UnitBlock& block, Step* step);
  std::unique_ptr<SharedUnits::Work> at_work(const Unit& unit) const;
  void told(const std::shared_ptr<Unit>& unit);

  // runner_units.cc: fetching and decoding them.
  bool pump_units(Actions& actions);
  bool pump_block(const UnitBlock& block, const JobPtr& job, uint64_t order, Actions& actions);
  void pump_ahead(Actions& actions);
  Step start_unit(const std::shared_ptr<Unit>& unit, const JobPtr& job, const UnitBlock& block, Actions& actions);
  Step decode_unit(const std::shared_ptr<Unit>& unit, const JobPtr& job, const UnitBlock& block, uint64_t order,
                   Actions& actions);
  void on_unit_read(UnitFlight& flight, Result<Buffer> result);
  void work_on_unit(const std::shared_ptr<Unit>& unit, WorkMemory& memory);
  uint64_t needs_beyond_thread(const Status& status) const;
  void after_decoding(Unit& unit, Result<std::shared_ptr<const Columns>> made, bool cold);
  void unit_failed(Unit& unit, Status status);
  bool unit_memory(Unit& unit, uint64_t bytes, const JobPtr& job, const UnitBlock& block);
  bool leaves_room(uint64_t bytes) const;
  bool may_fetch_ahead(uint64_t bytes) const;
  bool may_take_from_others(const JobPtr& job, const UnitBlock& block) const;
  std::optional<Claim> claim_for_unit(Use use, uint64_t bytes, const JobPtr& job, const UnitBlock& block);
  bool drop_other_units(const UnitBlock* needed);
  void drop_unit(Unit& unit);
  void free_units(UnitTable::Freed& freed);

  std::string what_is_awaited() const;
  std::string what_unit_is_awaited(const UnitBlock& block) const;
  void abandon_threads();
  Result<Delivery> deliver(Lock& lock);

  const std::shared_ptr<const ExecutionPlan> plan_;
  const std::shared_ptr<const Itinerary> itinerary_;
  const RunnerOptions options_;
  const RowWork row_work_;
  const UnitWork unit_work_;
  std::shared_ptr<Engine> engine_;  // null once it is closed
  const std::shared_ptr<SharedUnits> shared_units_;
  std::unique_ptr<Memory::Account> account_;
  const std::shared_ptr<ByteBudget> budget_;
  const std::shared_ptr<BufferPool> pool_, unit_pool_;
  const uint64_t generation_;
  const int64_t rows_per_task_hint_;
  Claim thread_memory_;

  mutable std::mutex mutex_;
  std::condition_variable delivered_;  // something changed for the consumer, or for close()
  Fetcher fetcher_;
  StoreLine* const line_;  // to the data set; null where nothing is fetched
  std::unique_ptr<Executor::Queue>
      queue_;  // of the compute threads; null before the first batch is asked for, and once it is closed
  std::deque<JobPtr> window_;
  std::unique_ptr<UnitTable> units_;  // null where rows are read one by one
  std::vector<uint32_t> decoded_;     // how often each unit was
  int decoding_ = 0;                  // units that compute threads work on, or will
  FieldForms forms_;
  Cursor cursor_;               // of the next batch to deliver
  Cursor planned_;              // of the next batch to begin
  uint64_t plans_dropped_ = 0;  // what was being planned before is not wanted
  bool planning_ = false;       // a compute thread plans
  uint64_t sequence_ = 0;
  int queued_ = 0;  // tasks posted and not finished
  bool closed_ = false;
  bool abandoned_ = false;  // a compute thread did not come back
  ForeignCalls calls_;      // by priority
  Stats stats_;
  int64_t waited_ns_ = 0;  // by the consumer, for the batch at cursor_
  bool long_wait_told_ = false;
};

}  // namespace forebay
