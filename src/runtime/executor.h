#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "base/work_memory.h"

namespace forebay {

/// The compute threads of one engine. Tasks with the smallest priority number run first (the oldest element), equal ones in
/// the order they came. Tasks must not wait for storage or for each other.
///
/// post() may be called from any thread, also from a task. stop() runs what has been posted (owners make their tasks cheap
/// when they stop), then joins. An executor may end on one of its own threads: that one then ends after its task.
class Executor {
 public:
  /// `memory` belongs to the thread that runs the task.
  using Task = std::function<void(WorkMemory& memory)>;

  /// Throws std::system_error where the system gives no more threads.
  explicit Executor(int threads);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void post(uint64_t priority, Task task);
  int threads() const { return thread_count_; }
  void stop();
  /// For tasks that do not return: the threads go on without an owner and end when they can.
  void abandon();

 private:
  struct Entry {
    uint64_t priority;
    uint64_t order;
    // Moving out of a priority queue's top is only possible through a mutable member.
    mutable Task task;
    bool operator<(const Entry& other) const {
      return priority != other.priority ? priority > other.priority : order > other.order;
    }
  };
  /// What the threads use: it lasts as long as the last of them.
  struct State {
    std::mutex mutex;
    std::condition_variable wake;
    std::priority_queue<Entry> queue;
    uint64_t posted = 0;
    int idle = 0;
    bool stopping = false;
  };
  static void run(const std::shared_ptr<State>& state);

  const int thread_count_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::vector<std::thread> threads_;
};

}  // namespace forebay
