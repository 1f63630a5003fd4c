#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "pipeline/runner.h"

// Who gives bytes back for whom, and what is said where all together have too few.

namespace forebay {

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
  if (status.bytes_needed() > budget_->capacity() && account_->raise(status.bytes_needed())) return true;
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

}  // namespace forebay
