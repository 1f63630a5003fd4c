#include "runtime/executor.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <queue>
#include <system_error>
#include <utility>

#include "base/cond_var.h"
#include "runtime/fork_guard.h"
#include "runtime/host.h"

namespace forebay {

namespace {

constexpr int64_t kLongTaskNs = 20'000'000;   // a queue with such tasks leaves a thread to other queues
constexpr int64_t kRecentNs = 1'000'000'000;  // a queue with a task since then counts as in use

// Signals are for the threads of the program that uses the engine.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

// Applies to the calling thread alone: Linux does that, although POSIX speaks of processes.
void lower_priority() {
  // The system caps the value at its lowest priority.
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + Executor::kNiceness);
}

}  // namespace

/// The part of a Queue that the threads use. Guarded by State::mutex.
struct Executor::QueueState {
  struct Entry {
    uint64_t priority;
    uint64_t order;
    // A priority queue gives const access to its top, so moving the task out needs a mutable
    // member.
    mutable Task task;
    bool operator<(const Entry& other) const {
      return priority != other.priority ? priority > other.priority : order > other.order;
    }
  };
  int limit;
  const bool adds_threads;  // its threads are added to those that the other queues share
  std::priority_queue<Entry> waiting;
  uint64_t posted = 0;
  int running = 0;
  int64_t longest_ns = 0;  // of its latest tasks
  int64_t posted_ns = 0;   // when it last got a task
  // Time that its tasks have taken, raised to the level of the others when it gets work again.
  int64_t time_ns = 0;
  bool abandoned = false;
  std::vector<std::unique_ptr<WorkMemory>> memories;  // those that no task uses
  CondVar over;                                       // notified when nothing runs or waits

  QueueState(int most, bool adds) : limit(most), adds_threads(adds) {}
};

struct Executor::Worker {
  std::thread thread;
  const QueueState* at = nullptr;  // queue of the task that it runs
  bool abandoned = false;          // its queue was abandoned: nobody waits for this thread any more
};

struct Executor::State {
  const Clock clock;
  Mutex mutex;
  int cores FOREBAY_GUARDED_BY(mutex);
  CondVar wake;
  std::vector<std::shared_ptr<QueueState>> open FOREBAY_GUARDED_BY(mutex);
  std::vector<std::shared_ptr<QueueState>> busy FOREBAY_GUARDED_BY(mutex);  // those with waiting tasks
  int running FOREBAY_GUARDED_BY(mutex) = 0;  // tasks that run and are not inside a BlockingScope
  int most FOREBAY_GUARDED_BY(mutex) = 0;     // limit of `running`
  int waiting FOREBAY_GUARDED_BY(mutex) = 0;  // threads whose task is inside a BlockingScope
  int idle FOREBAY_GUARDED_BY(mutex) = 0;
  int64_t level_ns FOREBAY_GUARDED_BY(mutex) = 0;  // `time_ns` of the queue that ran last
  bool stopping FOREBAY_GUARDED_BY(mutex) = false;

  State(int usable, Clock time) : clock(time), cores(usable) {}
  std::shared_ptr<QueueState> next() const FOREBAY_REQUIRES(mutex);
  void post(const std::shared_ptr<QueueState>& queue, uint64_t priority, Task task) FOREBAY_REQUIRES(mutex);
  Task take(const std::shared_ptr<QueueState>& queue, std::unique_ptr<WorkMemory>& memory) FOREBAY_REQUIRES(mutex);
  void ended(QueueState& queue, std::unique_ptr<WorkMemory> memory, int64_t took_ns) FOREBAY_REQUIRES(mutex);
  int wanted() const FOREBAY_REQUIRES(mutex);
  bool must_leave_thread(const QueueState& queue, int64_t now_ns) const FOREBAY_REQUIRES(mutex);
};

namespace {
thread_local const void* running_queue = nullptr;  // queue of this thread's task
// Expired if the thread was abandoned and the executor was destroyed.
thread_local std::weak_ptr<Executor> running_on;
}  // namespace

// Whether this queue may not run another task, because one thread must stay free for other queues.
bool Executor::State::must_leave_thread(const QueueState& queue, int64_t now_ns) const {
  if (queue.longest_ns <= kLongTaskNs || queue.running == 0 || running + 1 < most) return false;
  return std::any_of(open.begin(), open.end(), [&](const auto& other) {
    return other.get() != &queue && other->running == 0 && other->posted > 0 && now_ns - other->posted_ns < kRecentNs;
  });
}

// A linear search: there are only as many queues as loaders with work.
std::shared_ptr<Executor::QueueState> Executor::State::next() const {
  std::shared_ptr<QueueState> best;
  if (running >= most) return best;
  const int64_t now_ns = open.size() > 1 ? clock() : 0;
  for (const auto& queue : busy) {
    if (queue->running >= queue->limit || must_leave_thread(*queue, now_ns)) continue;
    if (!best || queue->running < best->running || (queue->running == best->running && queue->time_ns < best->time_ns))
      best = queue;
  }
  return best;
}

void Executor::State::post(const std::shared_ptr<QueueState>& queue, uint64_t priority, Task task) {
  if (queue->waiting.empty()) {
    // A queue without work has no claim on the time that others used meanwhile.
    if (queue->running == 0) queue->time_ns = std::max(queue->time_ns, level_ns);
    busy.push_back(queue);
  }
  queue->posted_ns = clock();
  queue->waiting.push({priority, queue->posted++, std::move(task)});
  // A thread that finishes a task looks for the next one, so only an idle thread needs a wake-up.
  if (idle > 0 && running < most && queue->running < queue->limit) wake.notify_one();
}

Executor::Task Executor::State::take(const std::shared_ptr<QueueState>& queue, std::unique_ptr<WorkMemory>& memory) {
  Task task = std::move(queue->waiting.top().task);
  queue->waiting.pop();
  if (queue->waiting.empty()) std::erase(busy, queue);
  if (queue->memories.empty()) {
    memory = std::make_unique<WorkMemory>();
  } else {
    memory = std::move(queue->memories.back());
    queue->memories.pop_back();
  }
  ++queue->running;
  ++running;
  level_ns = std::max(level_ns, queue->time_ns);
  // One freed thread may allow more than one task to start.
  if (idle > 0 && next() != nullptr) wake.notify_one();
  return task;
}

void Executor::State::ended(QueueState& queue, std::unique_ptr<WorkMemory> memory, int64_t took_ns) {
  --running;
  --queue.running;
  queue.time_ns += took_ns;
  // Decays by an eighth with each task, so that one slow task of long ago does not keep a thread
  // free for ever.
  queue.longest_ns = std::max(took_ns, queue.longest_ns - queue.longest_ns / 8);
  queue.memories.push_back(std::move(memory));
  // Also notifies while tasks run: close() checks its condition again.
  if (queue.waiting.empty()) queue.over.notify_all();
}

// Number of threads that the open queues need.
int Executor::State::wanted() const {
  int own = 0, shared = 0, largest = 0;
  for (const auto& queue : open) {
    if (queue->adds_threads) own += std::min(queue->limit, cores);  // the user may ask for many
    if (!queue->adds_threads) shared = std::max(shared, queue->limit);
    largest = std::max(largest, queue->limit);
  }
  // A user who asks for more threads than cores gets them, but the sum over loaders then stays
  // within the cores.
  return std::max(std::min(own + shared, cores), largest);
}

Executor::Executor(int cores, Clock clock)
    : generation_(process_generation()), state_(std::make_shared<State>(cores, clock)) {}

Executor::~Executor() {
  if (in_forked_child()) {  // the threads did not survive the fork; join() would block for ever
    (void)new auto(std::move(workers_));
    return;
  }
  {
    Lock lock(state_->mutex);
    state_->stopping = true;
    state_->wake.notify_all();
  }
  for (const auto& worker : workers_) {
    if (worker->thread.get_id() == std::this_thread::get_id()) {
      worker->thread.detach();
    } else {
      worker->thread.join();
    }
  }
}

std::unique_ptr<Executor::Queue> Executor::open(int limit, bool own) {
  Lock workers_lock(workers_mutex_);
  std::unique_ptr<Queue> queue(new Queue(shared_from_this(), std::make_shared<QueueState>(limit, own)));
  int wanted;
  {
    Lock lock(state_->mutex);
    state_->open.push_back(queue->state_);
    wanted = state_->most = state_->wanted();
    state_->wake.notify_all();
  }
  add_threads(wanted);
  return queue;
}

bool Executor::in_forked_child() const { return process_generation() != generation_; }

int Executor::threads() const {
  Lock lock(workers_mutex_);
  return static_cast<int>(workers_.size());
}

void Executor::add_threads(int wanted) {
  while (static_cast<int>(workers_.size()) < wanted) {
    auto worker = std::make_shared<Worker>();
    worker->thread = std::thread([state = state_, worker, executor = weak_from_this()] {
      running_on = executor;
      run(*state, *worker);
    });
    pthread_setname_np(worker->thread.native_handle(), kThreadName);
    workers_.push_back(std::move(worker));
  }
}

void Executor::try_add_threads(int wanted) {
  try {
    add_threads(wanted);
  } catch (const std::system_error&) {
    // The existing threads suffice, as long as not all of them wait for other tasks.
  }
}

void Executor::set_cores(int cores) {
  const Lock workers_lock(workers_mutex_);
  int wanted;
  {
    const Lock lock(state_->mutex);
    state_->cores = cores;
    wanted = state_->most = state_->wanted();
    state_->wake.notify_all();
  }
  try_add_threads(wanted);
}

int Executor::cores() const {
  const Lock lock(state_->mutex);
  return state_->cores;
}

int Executor::usable_cores() const {
  const Lock workers_lock(workers_mutex_);
  return forebay::usable_cores(workers_.empty() ? pthread_self() : workers_.front()->thread.native_handle());
}

void Executor::run(State& state, Worker& worker) {
  block_signals();
  lower_priority();
  Lock lock(state.mutex);
  for (;;) {
    // Checked before `stopping`, so that posted tasks run even at the end.
    const std::shared_ptr<QueueState> queue = state.next();
    if (!queue) {
      if (state.stopping) return;
      ++state.idle;
      state.wake.wait(lock);
      --state.idle;
      continue;
    }
    std::unique_ptr<WorkMemory> memory;
    Task task = state.take(queue, memory);
    worker.at = queue.get();
    running_queue = queue.get();
    lock.unlock();
    const int64_t begun = state.clock();
    task(*memory);
    task = nullptr;
    const int64_t took = state.clock() - begun;
    running_queue = nullptr;
    lock.lock();
    // abandon_queue() has updated the counts, and another thread may run for this queue. `memory`
    // dies with this frame.
    if (worker.abandoned) return;
    worker.at = nullptr;
    state.ended(*queue, std::move(memory), took);
  }
}

void Executor::begin_waiting() {
  Lock workers_lock(workers_mutex_);
  int threads;
  {
    Lock lock(state_->mutex);
    --state_->running;
    ++state_->waiting;
    threads = state_->most + state_->waiting;
    state_->wake.notify_one();
  }
  try_add_threads(threads);
}

void Executor::end_waiting() {
  Lock lock(state_->mutex);
  ++state_->running;
  --state_->waiting;
}

Executor::BlockingScope::BlockingScope() : executor_(running_queue != nullptr ? running_on.lock() : nullptr) {
  if (executor_) executor_->begin_waiting();
}

Executor::BlockingScope::~BlockingScope() {
  if (executor_) executor_->end_waiting();
}

// Detaches the queue's threads and starts others in their place.
void Executor::abandon_queue(QueueState& queue) {
  Lock workers_lock(workers_mutex_);
  int wanted;
  {
    Lock lock(state_->mutex);
    // A task inside a BlockingScope is not counted in `running`. Until it ends, one more task than
    // `most` may run.
    wanted = state_->most;
    queue.abandoned = true;
    queue.over.notify_all();
    for (const auto& worker : workers_) {
      if (worker->at != &queue) continue;
      worker->abandoned = true;
      worker->thread.detach();
      --state_->running;
      --queue.running;
    }
  }
  std::erase_if(workers_, [](const auto& worker) { return worker->abandoned; });
  try_add_threads(wanted);
}

void Executor::close(QueueState& queue) {
  std::vector<Task> left;
  {
    Lock lock(state_->mutex);
    // The task that closes its own queue counts as running and must not wait for itself.
    const int own = running_queue == &queue ? 1 : 0;
    queue.over.wait(lock, [&]() FOREBAY_REQUIRES(state_->mutex) {
      return queue.abandoned || (queue.waiting.empty() && queue.running <= own);
    });
    for (; !queue.waiting.empty(); queue.waiting.pop()) left.push_back(std::move(queue.waiting.top().task));
    const auto is_queue = [&](const auto& each) { return each.get() == &queue; };
    std::erase_if(state_->busy, is_queue);
    std::erase_if(state_->open, is_queue);
    state_->most = state_->wanted();
  }
  // Tasks of an abandoned queue run here, so that they learn that they are not wanted any more.
  WorkMemory memory;
  for (const Task& task : left) task(memory);
}

Executor::Queue::~Queue() {
  if (!executor_->in_forked_child()) executor_->close(*state_);
}

void Executor::Queue::post(uint64_t priority, Task task) {
  // Notifies under the lock. Once the lock is free the task may run, and a thread that waits for it
  // may destroy the executor.
  Lock lock(executor_->state_->mutex);
  executor_->state_->post(state_, priority, std::move(task));
}

void Executor::Queue::set_limit(int limit) {
  const Lock workers_lock(executor_->workers_mutex_);
  State& state = *executor_->state_;
  int wanted;
  {
    const Lock lock(state.mutex);
    state_->limit = limit;
    wanted = state.most = state.wanted();
    state.wake.notify_all();
  }
  executor_->try_add_threads(wanted);
}

void Executor::Queue::abandon() { executor_->abandon_queue(*state_); }

}  // namespace forebay
