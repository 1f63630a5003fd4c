#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/work_memory.h"

namespace forebay {

/// The compute threads of a process, and who may use them when.
///
/// Everybody who has work opens a queue. A thread that is free takes from the queue of which the fewest tasks run; of several
/// such queues, from the one that has had the least time so far (one that comes later, or had nothing to do, begins level with
/// the others). So each gets its share of the threads, and nobody's old debts make a newcomer wait. A queue whose tasks take long
/// leaves a thread free for those that had work lately and have none just now: they would wait for the end of such a task. Within a queue the smallest priority number goes first (the oldest element), equal ones in the order they came.
///
/// Tasks must not wait for storage or for each other; user code that does so all the same (it may take batches of another loader)
/// says so by a Waiting. All methods may be called from any thread, also from a task. An executor
/// may end on one of its own threads: that one then ends after its task.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  /// `memory` belongs to the task while it runs. It is one of its queue's, of which there are as many as tasks may run at once.
  using Task = std::function<void(WorkMemory& memory)>;
  class Queue;
  class Waiting;
  using Clock = int64_t (*)();  ///< nanoseconds since some moment
  static constexpr const char* kThreadName = "forebay-compute";

  /// The threads take a core only where nobody else of this user wants it as badly: whoever trains goes before whoever loads.
  static constexpr int kNiceness = 3;

  /// No threads yet: they come with the queues. `cores`: see open(). Always made as a shared_ptr.
  explicit Executor(int cores, Clock clock = monotonic_ns);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// `limit`: tasks of this queue that may run at once, at least 1. `own`: threads that it has beside those that others share
  /// (somebody said how many); the others together run as many as the one that allows most. All together run no more than there
  /// are cores, unless a single queue alone allows more. Throws std::system_error where the system gives no more threads.
  std::unique_ptr<Queue> open(int limit, bool own = false);
  /// There are more cores from now on, or fewer. Where the system gives no more threads, those that there are have to do.
  void set_cores(int cores);
  int cores() const;
  /// Cores that its threads may use now; before there are any, those of the calling thread.
  int usable_cores() const;
  /// Threads there are; they stay until the executor ends.
  int threads() const;

 private:
  struct Line;
  struct Worker;
  struct State;
  static void run(State& state, Worker& worker);
  void begin_waiting();
  void end_waiting();
  void add_threads(int wanted);
  void try_add_threads(int wanted);
  void leave_behind(Line& line);
  void close(Line& line);
  bool foreign() const;  // in the child of a fork

  const uint64_t generation_;
  const std::shared_ptr<State> state_;  // what the threads use: it lasts as long as the last of them
  mutable std::mutex workers_mutex_;    // taken before the state's
  std::vector<std::shared_ptr<Worker>> workers_;
};

/// For as long as it lives the calling thread waits for something that other tasks may have to do: where it runs a task, another one
/// runs in its place, on a thread more if need be.
class Executor::Waiting {
 public:
  Waiting();
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::shared_ptr<Executor> executor_;  // null where the thread runs no task
};

/// The tasks of one owner.
class Executor::Queue {
 public:
  /// Runs what has been posted (owners make their tasks cheap before), and waits for the last of them, unless this is it.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void post(uint64_t priority, Task task);
  /// So many of its tasks may run at once from now on, at least 1; those that run go on. Where the system gives no more threads,
  /// those that there are have to do.
  void set_limit(int limit);
  /// For tasks that do not return: their threads go on without an owner, and end when they can. Others come in their place, as
  /// far as the system gives any. The destructor then waits no more.
  void abandon();

 private:
  friend class Executor;
  Queue(std::shared_ptr<Executor> executor, std::shared_ptr<Line> line)
      : executor_(std::move(executor)), line_(std::move(line)) {}

  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<Line> line_;
};

}  // namespace forebay
