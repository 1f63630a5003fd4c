#include <algorithm>
#include <cstring>
#include <new>
#include <variant>

#include <fmt/format.h>

#include "pipeline/runner.h"

namespace forebay {

namespace {
// So many bad stand-ins in a row say that the data set as a whole is broken.
constexpr int64_t kMaxStandIns = 100;
}  // namespace

Source::Fetch Runner::fetch_of(const Job& job, const Task& task) const {
  if (task.kept_at) return *task.kept_at;
  Source::Fetch fetch = plan_->source->fetch(job.batch.rows()[static_cast<size_t>(task.begin)].id);
  if (fetch.request.expected_size) return fetch;
  fetch.size = std::max(fetch.size, task.size);
  fetch.request.set_aside_bytes = fetch.size;
  return fetch;
}

// What the cache has of the task's sample.
void Runner::look_up(const Job& job, Task& task) {
  const CacheStage* stage = plan_->cached();
  if (stage == nullptr || std::exchange(task.looked_up, true)) return;
  const std::optional<Hash128> entry =
      stage->entry(*plan_->source, job.batch.rows()[static_cast<size_t>(task.begin)].id);
  std::optional<EntryCache::Found> found = entry ? stage->cache->find(*entry) : std::nullopt;
  if (!found) return;
  task.kept = std::move(found->columns);
  if (task.kept) return;
  const uint64_t size = found->request.range ? found->request.range->length : found->request.expected_size.value_or(0);
  task.kept_at = Source::Fetch{found->store, std::move(found->request), size};
}

void Runner::issue_read(const JobPtr& job, Task& task, Actions& actions) {
  Source::Fetch fetch = fetch_of(*job, task);
  if (!fetch.request.expected_size) fetch.request.set_aside_bytes = task.charged;
  task.state = TaskState::kFetching;
  ++reads_in_flight_;
  const auto index = static_cast<size_t>(&task - job->tasks.data());
  const uint64_t ticket = task.ticket, bytes = task.charged;
  actions.push_back([self = shared_from_this(), job, index, ticket, bytes, fetch, begun = monotonic_ns()] {
    const auto sent = self->share_ ? self->share_->sent() : ConcurrencyControl::Sent{};
    fetch.store->read(
        fetch.request, self->stop_.get_token(), [self, job, index, ticket, bytes, begun, sent](Result<Buffer> result) {
          if (self->share_) self->share_->ended(sent, result.ok());
          self->plan_->fetch_counters->waiting_ns.fetch_add(monotonic_ns() - begun, std::memory_order_relaxed);
          self->on_read(job, index, ticket, bytes, std::move(result));
        });
  });
}

void Runner::on_read(const JobPtr& job, size_t index, uint64_t ticket, uint64_t bytes, Result<Buffer> result) {
  Lock lock(mutex_);
  Actions actions;
  --reads_in_flight_;
  Task& task = job->tasks[index];
  if (task.ticket != ticket) {
    budget_->release(Use::kFetched, bytes);
  } else if (!charge_actual(task, result)) {
    reset_task(*job, task);
  } else if (result.status().code() == Code::kUnavailable && !is_front(job)) {
    // Storage may be back by the time this batch is due.
    task.state = TaskState::kReady;  // nothing is in flight any more: reset_task() gives the charge back
    reset_task(*job, task);
  } else if (result.ok()) {
    plan_->fetch_counters->add(1, result->size(), result->size(), 0);
    task.fetched = std::move(*result);
    task.fetched_all = true;
    task.state = TaskState::kReady;
  } else {
    Outcome outcome;
    take_error(job->batch, task.begin, result.status(), outcome);
    ++job->queued, ++queued_;  // after_work() takes them back
    after_work(job, task, std::move(outcome), actions);
  }
  run_actions(lock, std::move(actions));
  if (closed_) delivered_.notify_all();
}

// The size of what was read may have been a guess. False where more bytes are needed than the task has: it is fetched again once it
// has them.
bool Runner::charge_actual(Task& task, const Result<Buffer>& result) {
  const uint64_t size = result.ok() ? result->size() : result.status().bytes_needed();
  if (!result.ok() && (result.status().code() != Code::kOutOfBudget || size <= task.charged)) return true;
  if (result.ok() && size <= task.charged) {
    budget_->release(Use::kFetched, task.charged - size);
  } else if (!result.ok() || !budget_->try_charge(Use::kFetched, size - task.charged)) {
    task.size = size;
    task.state = TaskState::kReady;  // nothing is in flight any more: reset_task() gives the charge back
    return false;
  }
  task.charged = size;
  return true;
}

void Runner::work(const JobPtr& job, size_t index, WorkMemory& memory) {
  Task& task = job->tasks[index];
  Lock lock(mutex_);
  Outcome outcome;
  const bool wanted = !closed_ && !job->retracting;
  const uint64_t granted = task.granted;
  lock.unlock();
  if (wanted) {
    memory.begin_task(options_.working_bytes_per_thread + granted, options_.working_bytes_per_thread);
    try {
      outcome = plan_->gathers_only()                        ? run_gather(job->batch, task)
                : plan_->units && plan_->units->gathers_rows ? gather_rows(*job, task, memory)
                                                             : run_task(*job, task, memory);
    } catch (const std::bad_alloc&) {
      outcome.fatal = out_of_budget("the system has no memory left, although the budget allows it; lower memory=", 0);
    } catch (const std::exception& error) {
      outcome.fatal = locate(internal_error(error.what()), job->batch.rows()[static_cast<size_t>(task.begin)].id);
    }
  }
  lock.lock();
  Actions actions;
  after_work(job, task, std::move(outcome), actions);
  run_actions(lock, std::move(actions));
  if (closed_) delivered_.notify_all();
}

Runner::Outcome Runner::run_gather(BatchJob& batch, Task& task) {
  Outcome outcome;
  const int64_t begun = thread_cpu_ns();
  const auto rows = static_cast<size_t>(task.end - task.begin);
  std::vector<int64_t> ids(rows);
  for (size_t i = 0; i < rows; ++i) ids[i] = batch.rows()[static_cast<size_t>(task.begin) + i].id;
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    Status status = plan_->source->gather(plan_->outputs[i].source_field, ids, batch.slot(i, task.begin));
    if (!status.ok()) {
      outcome.fatal = locate(std::move(status), ids.front());
      return outcome;
    }
    bytes += *plan_->outputs[i].row_bytes * rows;
  }
  plan_->write_counters->add(static_cast<int64_t>(rows), bytes, bytes, thread_cpu_ns() - begun);
  return outcome;
}

// Reads (if that takes no waiting), transforms and writes the rows of a task.
Runner::Outcome Runner::run_task(Job& job, Task& task, WorkMemory& memory) {
  Outcome outcome;
  BatchJob& batch = job.batch;
  for (int64_t row = task.begin; row < task.end;) {
    const RowJob& sample = batch.rows()[static_cast<size_t>(row)];
    if (sample.skipped) {  // found bad before a later row asked for more memory
      ++row;
      continue;
    }
    if (is_elsewhere(job, task, sample)) {
      outcome.elsewhere.push_back(sample.id);
      return outcome;
    }
    if ((plan_->fetches || task.kept_at) && !task.kept && !task.fetched_all && task.stage == 0) {
      const Source::Fetch fetch = fetch_of(job, task);
      const int64_t begun = thread_cpu_ns();
      std::optional<Result<Buffer>> read = fetch.store->read_now(fetch.request);
      if (!read) {
        outcome.cold = true;
        return outcome;
      }
      if (!read->ok()) {
        take_error(batch, row, read->status(), outcome);
        return outcome;
      }
      outcome.warm = true;
      task.fetched = std::move(**read);
      task.fetched_all = true;
      plan_->fetch_counters->add(1, task.fetched.size(), task.fetched.size(), thread_cpu_ns() - begun);
    }
    if (task.kept_at && !task.kept && task.stage == 0) {
      const CacheStage& stage = *plan_->cached();
      auto kept = stage.cache->open(*stage.entry(*plan_->source, sample.id), task.fetched);
      outcome.again = !kept.ok();  // damaged: the cache has dropped it, and the object itself is fetched
      if (outcome.again) return outcome;
      task.kept = std::move(*kept);
    }
    const uint64_t before = memory.reserved();
    Status status = run_row(job, task, row, memory, &outcome.foreign);
    if (status.code() == Code::kOutOfBudget && status.bytes_needed() > memory.grant()) {
      outcome.needs_bytes = status.bytes_needed();
      return outcome;
    }
    if (!status.ok()) {
      take_error(batch, row, std::move(status), outcome);
      if (!outcome.fatal.ok()) return outcome;
      if (outcome.again && !plan_->fetches && !starts_with_user_code() && task.stage == 0) {
        outcome.again = false;
        memory.release(memory.reserved() - before);
        continue;  // the stand-in is at hand
      }
    }
    // What its operators made on the way is gone, but for the values that wait for the batch.
    const uint64_t made = memory.reserved() - before;
    if (!outcome.foreign) memory.release(made - std::min(made, batch.loose_bytes(row)));
    ++row;
  }
  return outcome;
}

// From the source or from where user code left off, through the operators, into the batch (or up to the next user code).
Status Runner::run_row(Job& job, Task& task, int64_t row, WorkMemory& memory, bool* foreign) {
  const RowJob& sample = job.batch.rows()[static_cast<size_t>(row)];
  const SampleContext context{job.batch.key(row), &memory};
  // Operators change the record, and a task that asks for more memory runs again: so what user code left stays as it is.
  Record record;
  const int64_t begun = thread_cpu_ns();
  size_t first = task.stage;
  if (first == 0 && task.kept) {
    FOREBAY_RETURN_IF_ERROR(plan_->cached()->restore(*task.kept, *plan_->source, sample.id, record, task.extras));
    first = *plan_->cache_stage + 1;
  } else if (task.stage == 0 && plan_->units) {
    FOREBAY_ASSIGN(record, record_of_unit(job, task, sample.id));
  } else if (task.stage == 0) {
    FOREBAY_RETURN_IF_ERROR(plan_->source->load(sample.id, task.fetched, record));
  }
  for (const Value& value : task.record) record.push_back(value.copy());
  for (size_t stage = first; stage < plan_->stages.size(); ++stage) {
    if (const auto* next = std::get_if<ForeignStage>(&plan_->stages[stage])) {
      for (size_t field : next->inputs) FOREBAY_RETURN_IF_ERROR(record[field].materialize(memory));
      task.record = std::move(record);
      task.stage = stage;
      *foreign = true;
      return {};
    }
    if (const auto* cache = std::get_if<CacheStage>(&plan_->stages[stage])) {
      if (cache->forgets_extras) task.extras.clear();
      FOREBAY_RETURN_IF_ERROR(keep_row(*cache, job, task, row, record, memory, begun));
      continue;
    }
    for (const NativeOp& op : std::get<NativeStage>(plan_->stages[stage]).ops) {
      const int64_t op_begun = monotonic_ns();  // the CPU clock would cost more than many an operator
      Status status = op.op->apply(record, context);
      if (!status.ok()) return std::move(status).with_operator(op.name);
      op.counters->add(1, 0, 0, monotonic_ns() - op_begun);
    }
  }
  FOREBAY_RETURN_IF_ERROR(write_row(job, row, record, memory));
  if (plan_->output_schema.open_ended) job.batch.keep_extras(row, std::move(task.extras));
  return {};
}

namespace {
// A value that shares a unit's memory would keep all of the unit.
void own_memory(Value& value) {
  Buffer& shared = value.kind == FieldKind::kTensor ? value.tensor.buffer : value.bytes;
  Buffer own = Buffer::allocate(shared.size());
  if (!shared.empty()) std::memcpy(own.data(), shared.data(), shared.size());
  shared = std::move(own);
}
}  // namespace

Status Runner::write_row(Job& job, int64_t row, Record& record, WorkMemory& memory) {
  const int64_t begun = thread_cpu_ns();
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const OutputField& output = plan_->outputs[i];
    Value& value = record[i];
    if (!output.row_bytes) {
      FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
      bytes += value.nbytes();
      if (job.straddles) own_memory(value);
      job.batch.keep(i, row, std::move(value));
      continue;
    }
    if (value.kind != FieldKind::kTensor || value.dtype() != output.field.dtype ||
        !(value.shape() == output.field.shape)) {
      if (output.may_differ && value.kind != FieldKind::kAny) {
        FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
        bytes += value.nbytes();
        job.batch.keep(i, row, std::move(value));
        continue;
      }
      return Status(Code::kUnsupported, fmt::format("the field {} came out as {} {}", output.field.to_string(),
                                                    dtype_name(value.dtype()), value.shape().to_string()));
    }
    FOREBAY_RETURN_IF_ERROR(value.write({job.batch.slot(i, row), *output.row_bytes}, memory));
    bytes += *output.row_bytes;
  }
  plan_->write_counters->add(1, 0, bytes, thread_cpu_ns() - begun);
  return {};
}

Status Runner::keep_row(const CacheStage& stage, const Job& job, const Task& task, int64_t row, Record& record,
                        WorkMemory& memory, int64_t begun) {
  const std::optional<Hash128> entry = stage.entry(*plan_->source, job.batch.rows()[static_cast<size_t>(row)].id);
  if (!entry) return {};
  for (Value& value : record) FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  stage.keep(*entry, record, task.extras, static_cast<double>(thread_cpu_ns() - begun) * 1e-9);
  return {};
}

Status Runner::locate(Status status, int64_t id) const {
  return std::move(status).with_key(plan_->source->key(id)).with_sample(id);
}

// What a failure means: for the sample (by policy) or for the batch. Called by the thread that owns the row, or with the lock.
void Runner::take_error(BatchJob& batch, int64_t row, Status status, Outcome& outcome) {
  RowJob& job = batch.rows()[static_cast<size_t>(row)];
  batch.forget_values(row);
  status = locate(std::move(status), job.id);
  if (!is_data_error(status.code())) {
    outcome.fatal = std::move(status);
    return;
  }
  RowError error{row, job.id, std::move(status), /*raise=*/false};
  switch (options_.bad_sample) {
    case BadSample::kRaise: error.raise = true; break;
    case BadSample::kSkip: job.skipped = true; break;
    case BadSample::kReplace:
      if (job.attempt >= std::min(kMaxStandIns, itinerary_->order().size() - 1)) {
        error.raise = true;  // the last one tried stands for all of them
        break;
      }
      ++job.attempt;
      job.id = plan_->selection->id_at(itinerary_->stand_in(batch.step().at.epoch, batch.position(row), job.attempt));
      outcome.again = true;
      break;
  }
  outcome.errors.push_back(std::move(error));
}

// With the lock held: what comes next for a task that a compute thread has left.
void Runner::after_work(const JobPtr& job, Task& task, Outcome outcome, Actions& actions) {
  --job->queued;
  --queued_;
  const bool done = !job->retracting && !closed_ && outcome.needs_bytes == 0 && !outcome.cold && !outcome.again &&
                    !outcome.foreign && outcome.elsewhere.empty();
  task.copied = std::move(outcome.copied);
  if (done && !hold_values(*job, task, &outcome.needs_bytes)) outcome.errors.clear();
  if (units_ && job->straddles && done && outcome.needs_bytes == 0) leave_block(*job, task);
  if (task.granted > 0) budget_->release(Use::kWorking, task.granted);
  task.granted = 0;
  if (job->retracting || closed_) {
    task.state = TaskState::kPending;
    settle(job);
    return;
  }
  for (RowError& error : outcome.errors) job->batch.errors.push_back(std::move(error));
  if (outcome.needs_bytes > 0) {
    task.needs = outcome.needs_bytes - options_.working_bytes_per_thread;
    task.state = TaskState::kReady;
    return;
  }
  task.needs = 0;
  if (outcome.fatal.ok() && !outcome.elsewhere.empty()) return widen_block(*job, task, outcome.elsewhere);
  if (outcome.cold || outcome.again) {
    cold_ |= outcome.cold;
    // It keeps the bytes it was given: were it to ask anew, younger ones might have taken them.
    if (outcome.cold && reads_in_flight_ < request_limit_) return issue_read(job, task, actions);
    reset_task(*job, task);
    return;
  }
  if (outcome.foreign) {
    queue_call(job, task);
    return;
  }
  if (!outcome.fatal.ok()) {  // the rest of the batch is not waited for
    if (job->batch.fatal.ok()) job->batch.fatal = std::move(outcome.fatal);
    job->complete = true;
    delivered_.notify_all();
  }
  if (outcome.warm) cold_ = false;
  finish_task(job, task);
}

// What was fetched goes; what became a value of the batch stays, and is charged: first out of what the task was given to work
// in. False where the budget has no more: the values are dropped, and the task has to run again with `needs_bytes`.
bool Runner::hold_values(Job& job, Task& task, uint64_t* needs_bytes) {
  BatchJob& batch = job.batch;
  uint64_t kept = 0;
  for (int64_t i = task.begin; batch.keeps_values() && i < task.end; ++i) kept += batch.loose_bytes(row_of(job, i));
  kept += task.copied.size();
  if (kept > task.charged) {
    const uint64_t more = kept - task.charged, granted = std::min(more, task.granted);
    if (task.stage > 0) {  // made by user code, which is not called again
      budget_->charge_existing(Use::kFetched, more - granted);
    } else if (!budget_->try_charge(Use::kFetched, more - granted)) {
      for (int64_t i = task.begin; i < task.end; ++i) batch.forget_values(row_of(job, i));
      *needs_bytes = options_.working_bytes_per_thread + more;
      return false;
    }
    budget_->move(Use::kWorking, Use::kFetched, granted);
    task.granted -= granted;
  } else {
    budget_->release(Use::kFetched, task.charged - kept);
  }
  task.charged = kept;
  return true;
}

void Runner::finish_task(const JobPtr& job, Task& task) {
  task.fetched = Buffer();
  task.record.clear();
  task.state = TaskState::kDone;
  ++job->done;
}

}  // namespace forebay
