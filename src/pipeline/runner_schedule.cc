#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pipeline/runner.h"

namespace forebay {

namespace {
constexpr int64_t kCallsAhead = 128;         // rows that wait in user code, beyond the window
constexpr int64_t kMostBatchesAhead = 4096;  // batches may be of one row
}  // namespace

// Moves everything on that can be moved, oldest first. Stops at the first task that has to wait for bytes, so that no younger
// one takes what an older one needs; one that waits for a thread or a request slot lets others go on that need none.
void Runner::pump(Actions& actions) {
  if (closed_) return;
  fetcher_.refresh();
  extend_window(actions);
  if (units_ && !(move_oldest(actions) && pump_units(actions))) return;
  bool may_start = true;
  for (size_t i = 0; i < window_.size(); ++i) {
    const JobPtr job = window_[i];
    if (job->retracting || job->complete || job->assembling) continue;
    if (static_cast<int64_t>(i) >= options_.window_batches) {
      if (!may_start || !fetch_ahead(job, actions)) return;
      continue;
    }
    if (job->done == job->tasks.size()) {
      if (!finish_job(job, actions)) return;
      continue;
    }
    while (job->tasks[job->first].state == TaskState::kDone) ++job->first;
    for (size_t index = job->first; index < job->tasks.size() && (may_start || index < job->untouched); ++index) {
      if (threads_full()) {
        // Most of the time all threads have enough to do, and looking further would be for nothing.
        if (reads_on_compute_threads() || line_ == nullptr || !line_->has_slot()) return;
        index = std::max(index, job->pending_from);
        if (index >= (may_start ? job->tasks.size() : job->untouched)) break;
      }
      Task& task = job->tasks[index];
      if (units_ && block_waits(*job, task)) continue;
      Step step = Step::kMoved;
      if (task.state == TaskState::kPending && may_start) {
        step = start(job, task, actions);
        may_start = step != Step::kNoSlot;
        if (may_start) job->untouched = std::max(job->untouched, index + 1);
      }
      if (task.state == TaskState::kReady) step = compute(job, task, actions);
      if (step == Step::kNoBytes) return;
      if (index == job->pending_from && task.state != TaskState::kPending) ++job->pending_from;
    }
  }
}

// Where rows come from units: the oldest task, before any unit takes bytes that it needs. False where bytes are lacking.
bool Runner::move_oldest(Actions& actions) {
  const auto at = std::find_if(window_.begin(), window_.end(), [](const JobPtr& job) { return !job->complete; });
  if (at == window_.end() || at - window_.begin() >= options_.window_batches) return true;
  if ((*at)->retracting || (*at)->assembling) return true;
  const JobPtr job = *at;
  if (job->done == job->tasks.size()) return finish_job(job, actions);
  while (job->tasks[job->first].state == TaskState::kDone) ++job->first;
  Task& task = job->tasks[job->first];
  if (block_waits(*job, task)) return true;
  Step step = task.state == TaskState::kPending ? start(job, task, actions) : Step::kMoved;
  if (task.state == TaskState::kReady) step = compute(job, task, actions);
  return step != Step::kNoBytes;
}

// A quarter more than are in flight, so that one slow answer does not stop the others. More only took memory.
int64_t Runner::batches_ahead() const {
  const int64_t rows = plan_->starts_with_user_code() ? kCallsAhead : read_limit() + read_limit() / 4;
  if (reads_on_compute_threads() && !plan_->starts_with_user_code()) return 0;
  const int64_t batch = window_.empty() ? rows : static_cast<int64_t>(window_.back()->batch.rows().size());
  return std::min((rows + batch - 1) / std::max<int64_t>(batch, 1), kMostBatchesAhead);
}

bool Runner::window_is_short() const {
  return static_cast<int64_t>(window_.size()) < options_.window_batches + batches_ahead();
}

void Runner::extend_window(Actions& actions) {
  if (!window_is_short()) return;
  if (!plans_elsewhere()) {
    while (window_is_short()) {
      std::optional<StepPlan> step = itinerary_->step(planned_);
      if (!step) return;
      planned_ = step->after;
      const JobPtr job = make_job(std::move(*step));
      job->sequence = sequence_++;
      if (units_) plan_units(*job);
      window_.push_back(job);
    }
    return;
  }
  if (planning_ || itinerary_->finished(planned_)) return;
  planning_ = true;
  ++queued_;
  actions.posts.push_back(
      [self = shared_from_this()] { self->queue_->post(0, [self](WorkMemory&) { self->plan_batches(); }); });
}

void Runner::plan_batches() {
  Lock lock(mutex_);
  while (!closed_ && window_is_short()) {
    const Cursor at = planned_;
    const uint64_t wanted = plans_dropped_;
    lock.unlock();
    std::optional<StepPlan> step = itinerary_->step(at);
    const JobPtr job = step ? make_job(std::move(*step)) : nullptr;
    lock.lock();
    if (wanted != plans_dropped_) continue;
    if (!job) break;
    planned_ = job->batch.step().after;
    job->sequence = sequence_++;
    if (units_) plan_units(*job);
    window_.push_back(job);
    run_actions(lock);
  }
  planning_ = false;
  --queued_;
  run_actions(lock);
  if (closed_) delivered_.notify_all();
}

Runner::JobPtr Runner::make_job(StepPlan step) {
  auto job = std::make_shared<Job>(*plan_, *itinerary_, std::move(step));
  const auto rows = static_cast<int64_t>(job->batch.rows().size());
  const int64_t per_task = std::clamp<int64_t>(rows_per_task_hint_, 1, std::max<int64_t>(rows, 1));
  job->tasks.reserve(static_cast<size_t>((rows + per_task - 1) / per_task));
  for (int64_t begin = 0; begin < rows; begin += per_task) {
    job->tasks.emplace_back();
    job->tasks.back().begin = begin;
    job->tasks.back().end = std::min(rows, begin + per_task);
  }
  return job;
}

Runner::Step Runner::start(const JobPtr& job, Task& task, Actions& actions) {
  row_work_.look_up(task, job->batch);
  if (!plan_->fetches || task.kept) {
    task.state = TaskState::kReady;
    if (!plan_->starts_with_user_code() || task.in_cache()) return Step::kMoved;
    task.state = TaskState::kPending;
    const ByteBudget::Snapshot bytes = budget_->snapshot();
    if (bytes.used >= bytes.capacity && !is_oldest(job, &task)) return Step::kNoBytes;
    queue_call(job, task);
    return Step::kMoved;
  }
  const Source::Fetch fetch = row_work_.fetch_of(task, job->batch);
  // Reading on the compute thread saves a hand-over, as long as it does not wait; now and then it is tried again. An object of
  // unknown size may turn out to need more bytes than it has been given, so it is not read there.
  StoreLine& line = fetcher_.line(*fetch.store);
  const bool synchronous = fetch.request.expected_size && line.try_now();
  if (synchronous ? threads_full() : !line.has_slot()) return Step::kNoSlot;
  // The batch's memory first: a fetched row that has no place to go would only be fetched again.
  if (!reserve_slots(job, task)) return Step::kNoBytes;
  std::optional<Claim> claim;
  while (!(claim = Claim::take(budget_, Use::kFetched, fetch.size))) {
    if (!make_room(job, &task, fetch.size)) return Step::kNoBytes;
  }
  task.claim = std::move(*claim);
  if (synchronous) {
    task.state = TaskState::kReady;
  } else {
    issue_read(job, task, actions);
  }
  return Step::kMoved;
}

Runner::Step Runner::compute(const JobPtr& job, Task& task, Actions& actions) {
  if (threads_full()) return Step::kNoSlot;
  if (!reserve_slots(job, task)) return Step::kNoBytes;
  while (task.needs > task.grant.bytes()) {
    const uint64_t more = task.needs - task.grant.bytes();
    if (std::optional<Claim> claim = Claim::take(budget_, Use::kWorking, more)) {
      task.grant.merge(std::move(*claim));
    } else if (!make_room(job, &task, more)) {
      return Step::kNoBytes;
    }
  }
  if (units_ && !task.in_cache()) pin_block(*job, task);
  task.state = TaskState::kQueued;
  ++job->queued;
  ++queued_;
  const auto index = static_cast<size_t>(&task - job->tasks.data());
  actions.posts.push_back([self = shared_from_this(), job, index] {
    self->queue_->post(priority(*job, index),
                       [self, job, index](WorkMemory& memory) { self->work(job, index, memory); });
  });
  return Step::kMoved;
}

// Reads for a batch behind the window, out of the bytes set aside for that. False where no younger one may do so either.
bool Runner::fetch_ahead(const JobPtr& job, Actions& actions) {
  for (size_t index = job->pending_from; index < job->tasks.size(); ++index) {
    Task& task = job->tasks[index];
    if (task.state == TaskState::kPending) {
      row_work_.look_up(task, job->batch);
      if (plan_->starts_with_user_code()) {
        if (start(job, task, actions) != Step::kMoved) return false;
      } else if (!task.kept) {
        const Source::Fetch fetch = row_work_.fetch_of(task, job->batch);
        if (!fetcher_.line(*fetch.store).has_slot()) return false;
        const uint64_t fetched = budget_->snapshot().by_use[static_cast<size_t>(Use::kFetched)];
        if (fetched + fetch.size > options_.ahead_bytes) return false;
        std::optional<Claim> claim = Claim::take(budget_, Use::kFetched, fetch.size);
        if (!claim) return false;
        task.claim = std::move(*claim);
        issue_read(job, task, actions);
      }
      job->untouched = std::max(job->untouched, index + 1);
    }
    if (index == job->pending_from) ++job->pending_from;
  }
  return true;
}

bool Runner::reserve_slots(const JobPtr& job, const Task& task) {
  const uint64_t bytes = plan_->batch_bytes(static_cast<int64_t>(job->batch.rows().size()));
  while (!job->batch.has_slots() && !job->batch.acquire_slots(*pool_)) {
    if (!make_room(job, &task, bytes - job->batch.claimed_bytes())) return false;
  }
  return true;
}

// All rows are there: the batch is put together. Fields of unknown shape need memory and a compute thread for that. False when
// it has to wait for bytes.
bool Runner::finish_job(const JobPtr& job, Actions& actions) {
  const Status spoiled = job->batch.spoiled();
  const uint64_t needed = spoiled.ok() ? job->batch.assembly_bytes() : 0;
  if (needed == 0) {
    take_batch(job, spoiled.ok() ? job->batch.assemble(*pool_) : Result<Batch>(spoiled));
    return true;
  }
  while (!job->batch.reserve_assembly(*pool_, needed)) {
    if (!make_room(job, nullptr, needed)) return false;
  }
  job->assembling = true;
  ++queued_;
  actions.posts.push_back([self = shared_from_this(), job] {
    self->queue_->post(priority(*job, job->tasks.size()), [self, job](WorkMemory&) {
      Result<Batch> batch = job->batch.assemble(*self->pool_);
      Lock lock(self->mutex_);
      job->assembling = false;
      --self->queued_;
      if (!job->retracting) self->take_batch(job, std::move(batch));
      self->settle(job);
      self->run_actions(lock);
      self->delivered_.notify_all();
    });
  });
  return true;
}

void Runner::take_batch(const JobPtr& job, Result<Batch> batch) {
  if (batch.ok()) {
    job->made = std::move(*batch);
  } else if (job->batch.spoiled().ok()) {
    job->batch.errors.push_back({0, job->batch.rows().front().id, batch.status(), /*raise=*/true});
  }
  for (Task& task : job->tasks) drop_bytes(task);
  leave_blocks(*job);
  job->complete = true;
  if (is_front(job)) delivered_.notify_all();
}

bool Runner::is_oldest(const JobPtr& job, const Task* task) const {
  if (!is_front(job)) return false;
  for (size_t i = job->first; i < job->tasks.size(); ++i) {
    if (&job->tasks[i] == task) return true;
    if (job->tasks[i].state != TaskState::kDone) return false;
  }
  return task == nullptr;
}

bool Runner::anything_running() const { return queued_ > 0 || fetcher_.in_flight() > 0; }

void Runner::run_actions(Lock& lock, Actions actions) {
  // A store that answers at once leads back here from an action. The loop further out then goes on with what became
  // possible; going on here would nest as deep as there are reads in the window.
  thread_local const Runner* acting = nullptr;
  if (acting == this && actions.empty()) return;
  const Runner* const outer = std::exchange(acting, this);
  for (pump(actions); !actions.empty(); pump(actions)) {
    Actions begun = std::exchange(actions, Actions());
    lock.unlock();
    for (const auto& post : begun.posts) post();
    for (const FlightPtr& flight : begun.flights) fetcher_.send(flight);
    begun = Actions();  // what ends with them tells others, who have locks of their own
    lock.lock();
  }
  acting = outer;
}

// For those who have no time for it, or run elsewhere; a job that is done is taken apart there as well.
void Runner::pump_on_a_thread(JobPtr taken_apart) {
  ++queued_;
  queue_->post(0, [self = shared_from_this(), taken_apart = std::move(taken_apart)](WorkMemory&) mutable {
    taken_apart.reset();
    Lock lock(self->mutex_);
    --self->queued_;
    self->run_actions(lock);
    if (self->closed_) self->delivered_.notify_all();
  });
}

}  // namespace forebay
