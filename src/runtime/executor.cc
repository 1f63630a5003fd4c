#include "runtime/executor.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <queue>
#include <system_error>
#include <utility>

#include "runtime/fork_guard.h"
#include "runtime/host.h"

namespace forebay {

namespace {

constexpr int64_t kLong = 20'000'000;  // others would rather not wait so long
constexpr int64_t kLately = 1'000'000'000;

// Signals belong to the threads of the program that uses the engine.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

// Of the calling thread alone: that is what Linux does, whatever POSIX says of processes.
void give_way_to_others() {
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + Executor::kNiceness);  // no worse than the system's least
}

}  // namespace

/// A queue as the threads see it. Guarded by the state's lock.
struct Executor::Line {
  struct Entry {
    uint64_t priority;
    uint64_t order;
    // Moving out of a priority queue's top is only possible through a mutable member.
    mutable Task task;
    bool operator<(const Entry& other) const {
      return priority != other.priority ? priority > other.priority : order > other.order;
    }
  };
  int limit;
  const bool own;  // threads beside those that others share
  std::priority_queue<Entry> waiting;
  uint64_t posted = 0;
  int running = 0;
  int64_t longest_ns = 0;  // of its latest tasks
  int64_t posted_ns = 0;   // when it had something to do last
  int64_t time_ns = 0;     // that its tasks have taken; or as much as others had when it came
  bool abandoned = false;
  std::vector<std::unique_ptr<WorkMemory>> memories;  // those that no task uses
  std::condition_variable over;                       // nothing runs or waits

  Line(int most, bool beside) : limit(most), own(beside) {}
};

struct Executor::Worker {
  std::thread thread;
  const Line* at = nullptr;  // what it runs is of this queue
  bool lost = false;         // nobody waits for it any more
};

struct Executor::State {
  const Clock clock;
  std::mutex mutex;
  int cores;
  std::condition_variable wake;
  std::vector<std::shared_ptr<Line>> open;
  std::vector<std::shared_ptr<Line>> busy;  // those that have tasks waiting
  int running = 0;                          // tasks that do not wait
  int most = 0;                             // that may run at once
  int waiting = 0;                          // threads whose task waits for others
  int idle = 0;
  int64_t level_ns = 0;  // the time that was had by whoever ran last
  bool stopping = false;

  State(int usable, Clock time) : clock(time), cores(usable) {}
  std::shared_ptr<Line> next() const;
  void post(const std::shared_ptr<Line>& line, uint64_t priority, Task task);
  Task take(const std::shared_ptr<Line>& line, std::unique_ptr<WorkMemory>& memory);
  void ended(Line& line, std::unique_ptr<WorkMemory> memory, int64_t took_ns);
  int wanted() const;
  bool leaves_thread(const Line& line, int64_t now_ns) const;
};

namespace {
thread_local const void* running_line = nullptr;  // of the task that this thread runs
thread_local std::weak_ptr<Executor> running_on;  // gone where the thread was left behind, and the executor ended
}  // namespace

// Whether a thread is to stay free while this queue runs one task more.
bool Executor::State::leaves_thread(const Line& line, int64_t now_ns) const {
  if (line.longest_ns <= kLong || line.running == 0 || running + 1 < most) return false;
  return std::any_of(open.begin(), open.end(), [&](const auto& other) {
    return other.get() != &line && other->running == 0 && other->posted > 0 && now_ns - other->posted_ns < kLately;
  });
}

// There are few: as many as loaders have work just now.
std::shared_ptr<Executor::Line> Executor::State::next() const {
  std::shared_ptr<Line> best;
  if (running >= most) return best;
  const int64_t now_ns = open.size() > 1 ? clock() : 0;
  for (const auto& line : busy) {
    if (line->running >= line->limit || leaves_thread(*line, now_ns)) continue;
    if (!best || line->running < best->running || (line->running == best->running && line->time_ns < best->time_ns))
      best = line;
  }
  return best;
}

void Executor::State::post(const std::shared_ptr<Line>& line, uint64_t priority, Task task) {
  if (line->waiting.empty()) {
    // Whoever had nothing to do has no claim on the time that others used meanwhile.
    if (line->running == 0) line->time_ns = std::max(line->time_ns, level_ns);
    busy.push_back(line);
  }
  line->posted_ns = clock();
  line->waiting.push({priority, line->posted++, std::move(task)});
  // Whoever finishes a task looks for the next by itself, so that a wake-up is needed for a thread that sleeps only.
  if (idle > 0 && running < most && line->running < line->limit) wake.notify_one();
}

Executor::Task Executor::State::take(const std::shared_ptr<Line>& line, std::unique_ptr<WorkMemory>& memory) {
  Task task = std::move(line->waiting.top().task);
  line->waiting.pop();
  if (line->waiting.empty()) std::erase(busy, line);
  if (line->memories.empty()) {
    memory = std::make_unique<WorkMemory>();
  } else {
    memory = std::move(line->memories.back());
    line->memories.pop_back();
  }
  ++line->running;
  ++running;
  level_ns = std::max(level_ns, line->time_ns);
  if (idle > 0 && next() != nullptr) wake.notify_one();  // a place that became free may have let in more than one task
  return task;
}

void Executor::State::ended(Line& line, std::unique_ptr<WorkMemory> memory, int64_t took_ns) {
  --running;
  --line.running;
  line.time_ns += took_ns;
  // Fades by an eighth a task, so that one slow task of long ago does not keep a thread free for ever.
  line.longest_ns = std::max(took_ns, line.longest_ns - line.longest_ns / 8);
  line.memories.push_back(std::move(memory));
  // Also where some still run: close() looks again.
  if (line.waiting.empty()) line.over.notify_all();
}

// Threads for the queues that are open.
int Executor::State::wanted() const {
  int own = 0, shared = 0, largest = 0;
  for (const auto& line : open) {
    if (line->own) own += std::min(line->limit, cores);  // there may be many
    if (!line->own) shared = std::max(shared, line->limit);
    largest = std::max(largest, line->limit);
  }
  // A user who asks for more threads than cores gets them; the sum over loaders never goes beyond the cores for that.
  return std::max(std::min(own + shared, cores), largest);
}

Executor::Executor(int cores, Clock clock)
    : generation_(process_generation()), state_(std::make_shared<State>(cores, clock)) {}

Executor::~Executor() {
  if (foreign()) {  // the threads did not survive the fork; joining them would wait for ever
    (void)new auto(std::move(workers_));
    return;
  }
  {
    std::lock_guard lock(state_->mutex);
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
  std::lock_guard workers_lock(workers_mutex_);
  std::unique_ptr<Queue> queue(new Queue(shared_from_this(), std::make_shared<Line>(limit, own)));
  int wanted;
  {
    std::lock_guard lock(state_->mutex);
    state_->open.push_back(queue->line_);
    wanted = state_->most = state_->wanted();
    state_->wake.notify_all();
  }
  add_threads(wanted);
  return queue;
}

bool Executor::foreign() const { return process_generation() != generation_; }

int Executor::threads() const {
  std::lock_guard lock(workers_mutex_);
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
    // What there are will do, as long as not all of them wait for others.
  }
}

void Executor::set_cores(int cores) {
  const std::lock_guard workers_lock(workers_mutex_);
  int wanted;
  {
    const std::lock_guard lock(state_->mutex);
    state_->cores = cores;
    wanted = state_->most = state_->wanted();
    state_->wake.notify_all();
  }
  try_add_threads(wanted);
}

int Executor::cores() const {
  const std::lock_guard lock(state_->mutex);
  return state_->cores;
}

int Executor::usable_cores() const {
  const std::lock_guard workers_lock(workers_mutex_);
  return forebay::usable_cores(workers_.empty() ? pthread_self() : workers_.front()->thread.native_handle());
}

void Executor::run(State& state, Worker& worker) {
  block_signals();
  give_way_to_others();
  std::unique_lock lock(state.mutex);
  for (;;) {
    // Before `stopping`: what has been posted is run, also at the end.
    const std::shared_ptr<Line> line = state.next();
    if (!line) {
      if (state.stopping) return;
      ++state.idle;
      state.wake.wait(lock);
      --state.idle;
      continue;
    }
    std::unique_ptr<WorkMemory> memory;
    Task task = state.take(line, memory);
    worker.at = line.get();
    running_line = line.get();
    lock.unlock();
    const int64_t begun = state.clock();
    task(*memory);
    task = nullptr;
    const int64_t took = state.clock() - begun;
    running_line = nullptr;
    lock.lock();
    // leave_behind() has given the place back, and `memory` goes with this frame: another thread may be at work for the line.
    if (worker.lost) return;
    worker.at = nullptr;
    state.ended(*line, std::move(memory), took);
  }
}

void Executor::begin_waiting() {
  std::lock_guard workers_lock(workers_mutex_);
  int threads;
  {
    std::lock_guard lock(state_->mutex);
    --state_->running;
    ++state_->waiting;
    threads = state_->most + state_->waiting;
    state_->wake.notify_one();
  }
  try_add_threads(threads);
}

void Executor::end_waiting() {
  std::lock_guard lock(state_->mutex);
  ++state_->running;
  --state_->waiting;
}

Executor::Waiting::Waiting() : executor_(running_line != nullptr ? running_on.lock() : nullptr) {
  if (executor_) executor_->begin_waiting();
}

Executor::Waiting::~Waiting() {
  if (executor_) executor_->end_waiting();
}

// Its threads go on without an owner; others come in their place.
void Executor::leave_behind(Line& line) {
  std::lock_guard workers_lock(workers_mutex_);
  int wanted;
  {
    std::lock_guard lock(state_->mutex);
    // One of its tasks may be Waiting, and is then not in `running`: until that ends, one more than `most` may run.
    wanted = state_->most;
    line.abandoned = true;
    line.over.notify_all();
    for (const auto& worker : workers_) {
      if (worker->at != &line) continue;
      worker->lost = true;
      worker->thread.detach();
      --state_->running;
      --line.running;
    }
  }
  std::erase_if(workers_, [](const auto& worker) { return worker->lost; });
  try_add_threads(wanted);
}

void Executor::close(Line& line) {
  std::vector<Task> left;
  {
    std::unique_lock lock(state_->mutex);
    // The task that closes its own queue is in `running`, and would wait for itself.
    const int own = running_line == &line ? 1 : 0;
    line.over.wait(lock, [&] { return line.abandoned || (line.waiting.empty() && line.running <= own); });
    for (; !line.waiting.empty(); line.waiting.pop()) left.push_back(std::move(line.waiting.top().task));
    const auto is_line = [&](const auto& each) { return each.get() == &line; };
    std::erase_if(state_->busy, is_line);
    std::erase_if(state_->open, is_line);
    state_->most = state_->wanted();
  }
  // Of an abandoned queue: they are told here that nobody wants them.
  WorkMemory memory;
  for (const Task& task : left) task(memory);
}

Executor::Queue::~Queue() {
  if (!executor_->foreign()) executor_->close(*line_);
}

void Executor::Queue::post(uint64_t priority, Task task) {
  // Notified under the lock: once that is free the task may run, and whoever waited for it may end the executor.
  std::lock_guard lock(executor_->state_->mutex);
  executor_->state_->post(line_, priority, std::move(task));
}

void Executor::Queue::set_limit(int limit) {
  const std::lock_guard workers_lock(executor_->workers_mutex_);
  State& state = *executor_->state_;
  int wanted;
  {
    const std::lock_guard lock(state.mutex);
    line_->limit = limit;
    wanted = state.most = state.wanted();
    state.wake.notify_all();
  }
  executor_->try_add_threads(wanted);
}

void Executor::Queue::abandon() { executor_->leave_behind(*line_); }

}  // namespace forebay
