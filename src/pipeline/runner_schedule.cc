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
        if (reads_on_compute_threads() || !line_->has_slot()) return;
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
      [self = shared_from_this()] { self->executor_->post(0, [self](WorkMemory&) { self->plan_batches(); }); });
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
    if (!plan_->starts_with_user_code() || task.kept) return Step::kMoved;
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
    self->executor_->post(priority(*job, index),
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
    self->executor_->post(priority(*job, job->tasks.size()), [self, job](WorkMemory&) {
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

// For `bytes` that the budget does not have: takes them away from whoever is younger than `task` (null: than the whole job). True when trying again makes sense now;
// otherwise the caller waits: what is running gives its bytes back when it is done. Marks the job as failed when even
// everything together would not be enough.
bool Runner::make_room(const JobPtr& job, const Task* task, uint64_t bytes) {
  if (pool_->trim() || unit_pool_->trim()) return true;
  if (!is_oldest(job, task)) return false;
  const uint64_t before = budget_->snapshot().used;
  for (size_t i = window_.size(); i-- > 1;) retract(window_[i]);
  for (size_t i = job->tasks.size(); i-- > 0 && task != nullptr && &job->tasks[i] != task;) {
    Task& other = job->tasks[i];
    if (other.state == TaskState::kFetching || other.state == TaskState::kReady || other.state == TaskState::kForeign) {
      calls_.forget(priority(*job, i));
      reset_task(*job, other);
      ++stats_.retracted;
    }
  }
  if (units_ && budget_->snapshot().used >= before)
    drop_other_units(job->done == job->tasks.size() ? nullptr : job->block_of(job->tasks[job->first]).get());
  pool_->trim();  // what was just given back lies idle there
  unit_pool_->trim();
  if (budget_->snapshot().used < before) return true;
  if (anything_running()) return false;
  Status status = never_fits(job, task, bytes, budget_->snapshot().used + bytes);
  if (status.bytes_needed() > budget_->capacity() && status.bytes_needed() <= options_.memory_most) {
    budget_->raise_capacity(status.bytes_needed());
    return true;
  }
  job->batch.fatal = with_enough(std::move(status));
  job->complete = true;
  delivered_.notify_all();
  return false;
}

// What this batch needs is not enough for every batch.
Status Runner::with_enough(Status status) const {
  const uint64_t enough = options_.memory_bound ? options_.memory_bound() : 0;
  if (enough <= status.bytes_needed()) return status;
  Status told = out_of_budget(fmt::format("{} (with {} every batch fits)", status.message(), enough), enough);
  if (!status.key().empty()) told = std::move(told).with_key(status.key());
  return status.sample() ? std::move(told).with_sample(*status.sample()) : told;
}

// `least`: what is held and what is asked for, where nobody else holds anything.
Status Runner::never_fits(const JobPtr& job, const Task* task, uint64_t bytes, uint64_t least) const {
  if (task != nullptr && units_) return units_never_fit(job, *task, bytes, least);
  uint64_t needed = options_.working_bytes_per_thread * static_cast<uint64_t>(options_.threads);
  needed += plan_->batch_bytes(static_cast<int64_t>(job->batch.rows().size()));
  if (task == nullptr) {
    needed += job->batch.assembly_bytes();
    for (const Task& other : job->tasks) needed += other.held_bytes();
    needed = std::max(needed, least);
    return out_of_budget(
        fmt::format("one batch needs {} bytes, the memory budget is {}; raise memory= or make the batch smaller",
                    needed, budget_->capacity()),
        needed);
  }
  const int64_t id = job->batch.rows()[static_cast<size_t>(task->begin)].id;
  const uint64_t size = plan_->fetches ? row_work_.fetch_of(*task, job->batch).size : 0;
  uint64_t held = size;
  for (const Task& other : job->tasks) held += &other == task ? 0 : other.held_bytes();
  needed = std::max(needed + std::max(held, joined_bytes(*job)) + task->needs, least);
  Status status = out_of_budget(fmt::format("this sample needs {} bytes of memory ({} stored, {} to work in, the rest "
                                            "for its batch), the budget is {}; raise "
                                            "memory= to {} or more",
                                            needed, size, task->needs, budget_->capacity(), needed),
                                needed);
  return row_work_.locate(std::move(status), id);
}

// What a batch takes whose rows keep their stored bytes as they are: all of them until the last is there, and once more for the
// batch that they are copied into. 0 where no field does that.
uint64_t Runner::joined_bytes(const Job& job) const {
  const bool joined = std::any_of(plan_->outputs.begin(), plan_->outputs.end(), [](const OutputField& output) {
    return output.field.fetched && output.field.kind == FieldKind::kBytes;
  });
  if (!joined) return 0;
  uint64_t bytes = 0;
  for (const RowJob& row : job.batch.rows()) {
    const uint64_t stored = plan_->source->fetch(row.id).size, key = plan_->source->key(row.id).size();
    bytes += 2 * (stored + key + sizeof(int64_t));
  }
  return bytes;
}

void Runner::drop_bytes(Task& task) {
  task.claim.give_back();
  task.grant.give_back();
  task.fetched = Buffer();
  task.fetched_all = false;
  task.looked_up = false;
  task.kept.reset();
  task.kept_at.reset();
  task.copied = Buffer();
  task.record.clear();
  task.extras.clear();
}

void Runner::reset_task(Job& job, Task& task) {
  job.pending_from = std::min(job.pending_from, static_cast<size_t>(&task - job.tasks.data()));
  task.flight = nullptr;  // a read in flight keeps its claim until it lands; its answer is not wanted any more
  ++task.ticket;
  drop_bytes(task);
  if (units_) use_block(job, task);
  task.stage = 0;
  task.state = TaskState::kPending;
}

// The job gives back all it holds and begins anew later; tasks on compute threads finish first.
void Runner::retract(const JobPtr& job) {
  if (job->retracting) return;
  job->retracting = true;
  for (Task& task : job->tasks) {
    if (job->assembling || task.state == TaskState::kQueued) continue;  // a thread looks into what they hold
    if (task.state != TaskState::kPending) ++stats_.retracted;
    calls_.forget(priority(*job, static_cast<size_t>(&task - job->tasks.data())));
    reset_task(*job, task);
  }
  settle(job);
}

// The second half of retract(), once no compute thread works for the job.
void Runner::settle(const JobPtr& job) {
  if (!job->retracting || job->queued > 0 || job->assembling) return;
  for (Task& task : job->tasks) {
    forget_wider(*job, task);
    reset_task(*job, task);
  }
  for (size_t i = 0; i < job->batch.rows().size(); ++i) {
    RowJob& row = job->batch.rows()[i];
    if (row.attempt == 0) continue;
    row.attempt = 0;
    const int64_t position = job->batch.position(static_cast<int64_t>(i));
    row.id = plan_->selection->id_at(itinerary_->index_at(job->batch.step().at.epoch, position));
  }
  job->batch.clear_values();
  job->batch.drop_slots();
  job->made.reset();
  job->done = job->first = 0;
  job->complete = false;
  job->retracting = false;
  if (job->dropped) leave_blocks(*job);
}

void Runner::drop_window() {
  for (const JobPtr& job : window_) {
    job->dropped = true;
    retract(job);
  }
  window_.clear();
  calls_.forget_all();
  planned_ = cursor_;
  ++plans_dropped_;
  if (!units_) return;
  UnitTable::Freed freed;
  units_->clear(freed);
  free_units(freed);
}

void Runner::run_actions(Lock& lock, Actions actions) {
  // A store that answers at once leads back here from an action. The loop further out then goes on with what became
  // possible; going on here would nest as deep as there are reads in the window.
  thread_local const Runner* acting = nullptr;
  if (acting == this && actions.empty()) return;
  const Runner* const outer = std::exchange(acting, this);
  for (pump(actions); !actions.empty(); actions = Actions(), pump(actions)) {
    lock.unlock();
    for (const auto& post : actions.posts) post();
    for (const FlightPtr& flight : actions.flights) fetcher_.send(flight);
    lock.lock();
  }
  acting = outer;
}

}  // namespace forebay
