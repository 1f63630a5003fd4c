#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/work_memory.h"

namespace forebay {

/// The compute threads of a process, shared by the queues of all loaders.
///
/// Each user opens a queue. A free thread takes a task from the queue with the fewest running
/// tasks, and among equals from the queue that has used the least time so far. A queue that is new,
/// or had no work, starts level with the others. So each queue gets its share of the threads, and a
/// newcomer does not wait for queues to catch up. A queue whose tasks take long leaves one thread
/// free for queues that had work lately and have none just now: otherwise those would wait for the
/// end of such a task. Within a queue the smallest priority number runs first (the oldest element),
/// and equal ones in order of arrival.
///
/// Tasks must not wait for storage or for each other. User code that may do so (it may take batches
/// of another loader) runs inside a BlockingScope. All methods may be called from any thread, also
/// from a task. An executor may be destroyed on one of its own threads: that thread then ends after
/// its task.
class Executor : public std::enable_shared_from_this<Executor> {
 public:
  /// `memory` belongs to the task while it runs. A queue has as many of these as tasks may run at
  /// once.
  using Task = std::function<void(WorkMemory& memory)>;
  class Queue;
  class BlockingScope;
  using Clock = int64_t (*)();  ///< nanoseconds since some moment
  static constexpr const char* kThreadName = "forebay-compute";

  /// Niceness added to the threads, so that the training process of the same user goes first.
  static constexpr int kNiceness = 3;

  /// Starts no threads: they start with the queues. `cores` limits their number, see open(). Always
  /// made as a shared_ptr.
  explicit Executor(int cores, Clock clock = monotonic_ns);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Opens a queue. `limit` is the number of its tasks that may run at once, at least 1. If `own`,
  /// its threads are added to those that the other queues share, because the user asked for that
  /// number. The other queues together run as many tasks as the largest limit among them. In total
  /// no more tasks run than there are cores, unless a single queue has a larger limit. Throws
  /// std::system_error if the system cannot start the threads.
  std::unique_ptr<Queue> open(int limit, bool own = false);
  /// Changes the number of cores. If the system cannot start more threads, the existing ones carry
  /// on.
  void set_cores(int cores);
  int cores() const;
  /// Number of cores that the threads may use now. Before there are any threads, those of the
  /// calling thread.
  int usable_cores() const;
  /// Number of threads. They stay until the executor is destroyed.
  int threads() const;

 private:
  struct QueueState;
  struct Worker;
  struct State;
  static void run(State& state, Worker& worker);
  void begin_waiting();
  void end_waiting();
  void add_threads(int wanted) FOREBAY_REQUIRES(workers_mutex_);
  void try_add_threads(int wanted) FOREBAY_REQUIRES(workers_mutex_);
  void abandon_queue(QueueState& queue);
  void close(QueueState& queue);
  bool in_forked_child() const;  // in the child of a fork

  const uint64_t generation_;
  // The threads share ownership of the state, so it lives as long as the last of them.
  const std::shared_ptr<State> state_;
  mutable Mutex workers_mutex_;  // locked before the state's mutex
  std::vector<std::shared_ptr<Worker>> workers_ FOREBAY_GUARDED_BY(workers_mutex_);
};

/// States that the calling thread waits, during the lifetime of this object, for something that
/// other tasks may have to do. If the thread runs a task, another task runs in its place, if need
/// be on an additional thread.
class Executor::BlockingScope {
 public:
  BlockingScope();
  ~BlockingScope();
  BlockingScope(const BlockingScope&) = delete;
  BlockingScope& operator=(const BlockingScope&) = delete;

 private:
  std::shared_ptr<Executor> executor_;  // null if the thread runs no task
};

/// The tasks of one user. The executor lives at least as long as its queues.
class Executor::Queue {
 public:
  /// Runs all posted tasks (owners make them cheap before) and waits for the last of them, unless
  /// the calling thread runs it.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void post(uint64_t priority, Task task);
  /// Sets how many tasks of this queue may run at once, at least 1. Running tasks go on. If the
  /// system cannot start more threads, the existing ones carry on.
  void set_limit(int limit);
  /// Gives up tasks that do not return. Their threads go on without an owner and end when they can.
  /// Other threads replace them, as far as the system can start any. The destructor then no longer
  /// waits.
  void abandon();

 private:
  friend class Executor;
  Queue(std::shared_ptr<Executor> executor, std::shared_ptr<QueueState> queue)
      : executor_(std::move(executor)), state_(std::move(queue)) {}

  const std::shared_ptr<Executor> executor_;
  const std::shared_ptr<QueueState> state_;
};

}  // namespace forebay
