#include <algorithm>
#include <utility>

#include "pipeline/runner.h"

namespace forebay {

/// The read of one task's object, or of its entry in a cache.
class Runner::RowFlight final : public Flight {
 public:
  RowFlight(std::shared_ptr<Runner> runner, JobPtr of, size_t index, StoreLine& line, ReadRequest request, Claim bytes)
      : Flight(line, std::move(request), std::move(bytes)), job(std::move(of)), task(index),
        runner_(std::move(runner)) {}

  const JobPtr job;
  const size_t task;

 private:
  void landed(Result<Buffer> result) override { runner_->on_read(*this, std::move(result)); }

  const std::shared_ptr<Runner> runner_;
};

void Runner::issue_read(const JobPtr& job, Task& task, Actions& actions) {
  Source::Fetch fetch = row_work_.fetch_of(task, job->batch);
  if (!fetch.request.expected_size) fetch.request.set_aside_bytes = task.claim.bytes();
  const auto index = static_cast<size_t>(&task - job->tasks.data());
  const auto flight = std::make_shared<RowFlight>(shared_from_this(), job, index, fetcher_.line(*fetch.store),
                                                  std::move(fetch.request), std::move(task.claim));
  fetcher_.begin(*flight);
  task.flight = flight.get();
  task.state = TaskState::kFetching;
  actions.flights.push_back(flight);
}

void Runner::on_read(RowFlight& flight, Result<Buffer> result) {
  Lock lock(mutex_);
  Actions actions;
  fetcher_.end(flight);
  const JobPtr& job = flight.job;
  Task& task = job->tasks[flight.task];
  if (task.flight != &flight) {
    flight.claim.give_back();
  } else {
    task.flight = nullptr;
    task.state = TaskState::kReady;
    if (!claim_actual(task, std::move(flight.claim), result)) {
      reset_task(*job, task);
    } else if (result.status().code() == Code::kUnavailable && !is_front(job)) {
      reset_task(*job, task);  // storage may be back by the time this batch is due
    } else if (result.ok()) {
      plan_->fetch_counters->add(1, result->size(), result->size(), 0);
      task.fetched = std::move(*result);
      task.fetched_all = true;
    } else {
      sample_failed(job, task, result.status(), actions);
    }
  }
  run_actions(lock, std::move(actions));
  if (closed_) delivered_.notify_all();
}

// The size of what was read may have been a guess. False where more bytes are needed than were claimed: it is fetched again once
// the task has them.
bool Runner::claim_actual(Task& task, Claim claim, const Result<Buffer>& result) {
  const uint64_t size = result.ok() ? result->size() : result.status().bytes_needed();
  const bool too_large =
      result.ok() ? size > claim.bytes() : result.status().code() == Code::kOutOfBudget && size > claim.bytes();
  if (too_large && (!result.ok() || !claim.try_grow(size - claim.bytes()))) {
    task.size = size;
    return false;
  }
  if (result.ok()) claim.shrink_to(size);
  task.claim = std::move(claim);
  return true;
}

void Runner::work(const JobPtr& job, size_t index, WorkMemory& memory) {
  Task& task = job->tasks[index];
  Lock lock(mutex_);
  const bool wanted = !closed_ && !job->retracting;
  const uint64_t granted = task.grant.bytes();
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
  task.grant.give_back();
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
    case Verdict::kCold: {
      StoreLine& line = fetcher_.line(*row_work_.fetch_of(task, job->batch).store);
      line.found(/*cold=*/true);
      // It keeps the bytes it was given: were it to ask anew, younger ones might have taken them.
      return line.has_slot() ? issue_read(job, task, actions) : reset_task(*job, task);
    }
    case Verdict::kAgain: return reset_task(*job, task);
    case Verdict::kForeign: return queue_call(job, task);
    case Verdict::kFatal:  // the rest of the batch is not waited for
      if (job->batch.fatal.ok()) job->batch.fatal = std::move(result.fatal);
      job->complete = true;
      delivered_.notify_all();
      break;
    case Verdict::kDone: break;
  }
  if (result.warm != nullptr) fetcher_.line(*result.warm).found(/*cold=*/false);
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
  if (kept <= task.claim.bytes()) {
    task.claim.shrink_to(kept);
    return true;
  }
  const uint64_t more = kept - task.claim.bytes();
  Claim values = task.grant.split(std::min(more, task.grant.bytes()));
  const uint64_t lacking = more - values.bytes();
  if (task.stage > 0) {  // made by user code, which is not called again
    values.merge(Claim::of_existing(budget_, Use::kFetched, lacking));
  } else if (std::optional<Claim> rest = Claim::take(budget_, Use::kFetched, lacking)) {
    values.merge(std::move(*rest));
  } else {
    for (int64_t i = task.begin; i < task.end; ++i) batch.forget_values(at.row(i));
    *needs_bytes = options_.working_bytes_per_thread + more;
    return false;
  }
  values.move_to(Use::kFetched);
  task.claim.merge(std::move(values));
  return true;
}

void Runner::finish_task(const JobPtr& job, Task& task) {
  task.fetched = Buffer();
  task.record.clear();
  task.state = TaskState::kDone;
  ++job->done;
}

}  // namespace forebay
