#include <algorithm>
#include <utility>

#include "pipeline/runner.h"

namespace forebay {

void Runner::issue_read(const JobPtr& job, Task& task, Actions& actions) {
  Source::Fetch fetch = row_work_.fetch_of(task, job->batch);
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
    sample_failed(job, task, result.status(), actions);
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
  const bool wanted = !closed_ && !job->retracting;
  const uint64_t granted = task.granted;
  const RowPlacement at = job->placement(task);
  lock.unlock();
  RowResult result;
  if (wanted) {
    memory.begin_task(options_.working_bytes_per_thread + granted, options_.working_bytes_per_thread);
    result = row_work_.run(task, job->batch, at, memory);
  }
  lock.lock();
  Actions actions;
  after_work(job, task, std::move(result), actions);
  run_actions(lock, std::move(actions));
  if (closed_) delivered_.notify_all();
}

// With the lock held: a read or user code gave an error in place of the task's sample.
void Runner::sample_failed(const JobPtr& job, Task& task, Status status, Actions& actions) {
  RowResult result;
  row_work_.fail(job->batch, task.begin, std::move(status), result);
  ++job->queued, ++queued_;  // after_work() takes them back
  after_work(job, task, std::move(result), actions);
}

// With the lock held: what comes next for a task that a compute thread has left.
void Runner::after_work(const JobPtr& job, Task& task, RowResult result, Actions& actions) {
  --job->queued;
  --queued_;
  const bool wanted = !job->retracting && !closed_;
  const bool over = result.verdict == Verdict::kDone || result.verdict == Verdict::kFatal;
  task.copied = std::move(result.copied);
  if (wanted && over && !hold_values(*job, task, &result.needs_bytes)) {
    result.verdict = Verdict::kNeedsBytes;
    result.errors.clear();
  } else if (wanted && over && units_ && job->straddles) {
    leave_block(*job, task);
  }
  if (task.granted > 0) budget_->release(Use::kWorking, task.granted);
  task.granted = 0;
  if (!wanted) {
    task.state = TaskState::kPending;
    settle(job);
    return;
  }
  for (RowError& error : result.errors) job->batch.errors.push_back(std::move(error));
  task.needs = result.verdict == Verdict::kNeedsBytes ? result.needs_bytes - options_.working_bytes_per_thread : 0;
  switch (result.verdict) {
    case Verdict::kNeedsBytes: task.state = TaskState::kReady; return;
    case Verdict::kElsewhere: return widen_block(*job, task, result.elsewhere);
    case Verdict::kCold:
      cold_ = true;
      // It keeps the bytes it was given: were it to ask anew, younger ones might have taken them.
      if (reads_in_flight_ < request_limit_) return issue_read(job, task, actions);
      return reset_task(*job, task);
    case Verdict::kAgain: return reset_task(*job, task);
    case Verdict::kForeign: return queue_call(job, task);
    case Verdict::kFatal:  // the rest of the batch is not waited for
      if (job->batch.fatal.ok()) job->batch.fatal = std::move(result.fatal);
      job->complete = true;
      delivered_.notify_all();
      break;
    case Verdict::kDone: break;
  }
  if (result.warm) cold_ = false;
  finish_task(job, task);
}

// What was fetched goes; what became a value of the batch stays, and is charged: first out of what the task was given to work
// in. False where the budget has no more: the values are dropped, and the task has to run again with `needs_bytes`.
bool Runner::hold_values(Job& job, Task& task, uint64_t* needs_bytes) {
  BatchJob& batch = job.batch;
  uint64_t kept = 0;
  const RowPlacement at = job.placement(task);
  for (int64_t i = task.begin; batch.keeps_values() && i < task.end; ++i) kept += batch.loose_bytes(at.row(i));
  kept += task.copied.size();
  if (kept > task.charged) {
    const uint64_t more = kept - task.charged, granted = std::min(more, task.granted);
    if (task.stage > 0) {  // made by user code, which is not called again
      budget_->charge_existing(Use::kFetched, more - granted);
    } else if (!budget_->try_charge(Use::kFetched, more - granted)) {
      for (int64_t i = task.begin; i < task.end; ++i) batch.forget_values(at.row(i));
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
