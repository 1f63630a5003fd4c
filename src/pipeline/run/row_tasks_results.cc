#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "pipeline/run/row_tasks.h"
#include "pipeline/run/row_tasks_call.h"

// Processing of results for tasks: from stores, compute threads and user code.

namespace forebay {

std::shared_ptr<void> RowTasks::on_send(Element& element) {
  if (auto& flight = task_of(element).entry.flight) flight->resume();
  return nullptr;
}

// Handles an error that a read or user code gave for the task's sample.
void RowTasks::on_error(Element& element, Status status, Actions& actions) {
  RowTask& task = task_of(element);
  RowResult result;
  work_of(task).fail(task.batch->job, task.first_row, std::move(status), result);
  process_result(task.batch->shared_from_this(), task, std::move(result), Claim(), actions);
}

void RowTasks::on_answer(const Call& call, Status status, const Schema& schema, Record record) {
  AdvancingLock advancing(core_);
  RowTask& task = call.batch->tasks[call.index];
  // A task that was revoked and called user code again has another ticket.
  const auto* in_user_code = std::get_if<RowTask::InUserCode>(&task.state);
  if (core_.closed || in_user_code == nullptr || in_user_code->ticket != call.ticket) return;
  if (status.ok()) {
    const auto& stage = std::get<ForeignStage>(plan_of(task).stages[task.stage]);
    status = accept_answer(stage, schema, std::move(record), task);
  }
  task.state = RowTask::Runnable{};
  if (status.ok()) {
    ++task.stage;
    pause_flight(task);
  } else {
    on_error(task, std::move(status), advancing.actions);
  }
}

// Runs on a compute thread.
void RowTasks::work(const WindowBatchPtr& batch, size_t index, WorkMemory& memory) {
  const uint64_t own = core_.options.memory.per_thread;
  RowTask& task = batch->tasks[index];
  RunCore::Lock lock(core_.mutex);
  const bool wanted = !core_.closed && !batch->revoking;
  auto& running = std::get<RowTask::Running>(task.state);
  running.begun = true;
  const uint64_t granted = running.working.bytes();
  const RowPlacement at = batch->placement(task);
  core_.on_state_changed();
  const bool ahead = !batch->due;
  lock.unlock();
  RowResult result;
  if (wanted) {
    memory.begin_task(own + granted, own);
    result = run(task, at, memory);
  }
  AdvancingLock advancing(core_);
  core_.on_task_ended();
  batch->summary.on_stopped();
  BlockUses::done_reading(*batch, task);
  result.storage_unavailable &= ahead;
  process_result(batch, task, std::move(result), std::move(std::get<RowTask::Running>(task.state).working),
                 advancing.actions);
}

RowResult RowTasks::run(RowTask& task, const RowPlacement& at, WorkMemory& memory) const {
  if (plan_of(task).gathers_only()) return gather(task, at, memory);
  return work_of(task).run(task, task.batch->job, at, memory);
}

namespace {

// Rows of a task that are next to each other and of one branch.
struct RowRun {
  uint16_t branch;
  int64_t begin, end;
  bool counted = false;  // but for its time
};

std::vector<RowRun> runs_of(const RowTask& task, const RowPlacement& at, size_t branches) {
  if (branches == 1) return {{0, task.begin, task.end}};
  std::vector<RowRun> runs;
  runs.reserve(std::min(branches, static_cast<size_t>(task.end - task.begin)));
  for (int64_t row = task.begin; row < task.end; ++row) {
    const uint16_t branch = task.batch->job.planned(at.row(row)).branch;
    if (runs.empty() || runs.back().branch != branch) runs.push_back({branch, row, row});
    runs.back().end = row + 1;
  }
  return runs;
}

}  // namespace

// Runs the rows of a task branch by branch. All runs are found before the first is copied: to look
// for them in between delays the copies. Their time is measured together, since reading the clock
// takes longer than copying a few rows.
RowResult RowTasks::gather(RowTask& task, const RowPlacement& at, WorkMemory& memory) const {
  BatchJob& job = task.batch->job;
  const int64_t begun_ns = thread_cpu_ns();
  std::vector<RowRun> runs = runs_of(task, at, core_.plan.size());
  GatherBuffers buffers;
  RowResult all;
  size_t done = 0;
  for (; done < runs.size() && all.verdict == Verdict::kDone; ++done) {
    RowRun& run = runs[done];
    const RowWork& work = core_.row_work(run.branch);
    run.counted = !work.only_gathers() || !work.gather(job, run.begin, run.end, at, buffers).ok();
    if (run.counted) run_part(run.begin, run.end, run.branch, task, at, memory, all);
  }
  const int64_t taken_ns = thread_cpu_ns() - begun_ns, count = task.end - task.begin;
  for (const RowRun& run : std::span(runs).first(done)) {
    const BranchPlan& plan = core_.plan.branch(run.branch);
    const int64_t rows = run.end - run.begin, part_ns = taken_ns * rows / count;
    if (run.counted)
      plan.write_counters->busy_ns.fetch_add(part_ns, std::memory_order_relaxed);
    else
      plan.count_gathered(rows, part_ns);
  }
  return all;
}

// Runs the rows of one branch whose source has not copied them. Adds to `all`.
void RowTasks::run_part(int64_t begin, int64_t end, uint16_t branch, RowTask& task, const RowPlacement& at,
                        WorkMemory& memory, RowResult& all) const {
  RowInput rows;
  rows.branch = branch;
  rows.begin = begin;
  rows.end = end;
  rows.first_row = at.row(begin);
  RowResult result = core_.row_work(branch).run(rows, task.batch->job, at, memory);
  std::ranges::move(result.errors, std::back_inserter(all.errors));
  result.errors = std::move(all.errors);
  all = std::move(result);
}

// Processes the result of a compute thread, or the error of a read or of user code. `grant` is the
// working memory of the task, which is released.
void RowTasks::process_result(const WindowBatchPtr& batch, RowTask& task, RowResult result, Claim grant,
                              Actions& actions) {
  if (batch->revoking || core_.closed) {
    task.state = RowTask::Waiting{};
    grant.give_back();
    revocation_.finish_revoking(*batch);
    return;
  }
  task.copied = std::move(result.copied);
  if (result.verdict == Verdict::kDone || result.verdict == Verdict::kFatal) {
    if (const std::optional<uint64_t> needed = charge_values(*batch, task, grant)) {
      // The errors are reported now although the task runs again: rows that were skipped or
      // replaced stay so and do not fail again.
      result.verdict = Verdict::kNeedsBytes;
      result.needs_bytes = *needed;
    } else if (batch->releases_block_early(task)) {
      uses_.release(*batch, task);
    }
  }
  grant.give_back();
  for (RowError& error : result.errors) batch->job.errors.push_back(std::move(error));
  apply_verdict(batch, task, result, actions);
}

// Gives the task its next state.
void RowTasks::apply_verdict(const WindowBatchPtr& batch, RowTask& task, RowResult& result, Actions& actions) {
  switch (result.verdict) {
    case Verdict::kNeedsBytes:
      // No underflow, since the task asked for more than the thread's own memory and its grant.
      task.working_needed = result.needs_bytes - core_.options.memory.per_thread;
      task.state = RowTask::Runnable{};
      return pause_flight(task);
    case Verdict::kNeedsChunks: revocation_.revoke(*batch, task); return uses_.widen(*batch, task, result.missing_ids);
    case Verdict::kPageCacheMiss: return read_from_store(batch, task, actions);
    case Verdict::kReplaced:
    case Verdict::kEntryDamaged:
    case Verdict::kVersionLearned: return revocation_.revoke(*batch, task);
    case Verdict::kForeign: return call_user(batch, task);
    case Verdict::kFatal: fail_batch(*batch, result); break;
    case Verdict::kDone: break;
  }
  if (result.read_from != nullptr) core_.fetcher.slots_of(*result.read_from).record_try(/*hit=*/true);
  finish(*batch, task);
  // The task began before the batch was due and ended after mark_front_due() had seen the batch,
  // which it does only once.
  if (batch->due && std::exchange(batch->retry_when_due, false)) revocation_.revoke_batch(*batch);
}

// Ends the batch without waiting for its other tasks. The first error counts.
void RowTasks::fail_batch(WindowBatch& batch, RowResult& result) {
  if (batch.job.fatal.ok()) {
    batch.job.fatal = std::move(result.fatal);
    batch.retry_when_due = result.storage_unavailable;
  }
  batch.complete = true;
  core_.changed.notify_all();
}

// Reads an object asynchronously that was not in the page cache.
void RowTasks::read_from_store(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  StoreSlots& slots = core_.fetcher.slots_of(*task.bytes.store);
  slots.record_try(/*hit=*/false);
  // If the plan fetches nothing else, no memory was claimed for the entry. The task starts again
  // and claims it like any read.
  if (!plan_of(task).fetches) {
    task.entry_needs_read = true;
    return revocation_.revoke(*batch, task);
  }
  // The task keeps its claim, since younger tasks could take the memory otherwise.
  if (slots.has_slot()) {
    send_read_or_make_runnable(task, std::move(task.bytes.claim), ReadOn::kStore, actions);
  } else {
    revocation_.revoke(*batch, task);
  }
}

// Bytes that the task's rows hold until their batch is assembled.
uint64_t RowTasks::bytes_until_assembly(const WindowBatch& batch, const RowTask& task) {
  uint64_t bytes = task.copied.size();
  if (!batch.job.stores_values_per_row()) return bytes;
  const RowPlacement placement = batch.placement(task);
  for (int64_t i = task.begin; i < task.end; ++i) bytes += batch.job.value_bytes(placement.row(i));
  return bytes;
}

// Releases the fetched bytes and charges the values that wait for the batch, at first from the
// working memory of the task. Returns nothing if that succeeded. If memory is lacking, the values
// are dropped and the task has to run again with the returned bytes of working memory.
std::optional<uint64_t> RowTasks::charge_values(WindowBatch& batch, RowTask& task, Claim& grant) const {
  const uint64_t charged = bytes_until_assembly(batch, task);
  Claim& claim = task.bytes.claim;
  if (charged <= claim.bytes()) {
    claim.shrink_to(charged);
    return std::nullopt;
  }
  const uint64_t more = charged - claim.bytes();
  Claim values = grant.split(std::min(more, grant.bytes()));
  const uint64_t lacking = more - values.bytes();
  if (task.stage > 0) {  // made by user code, which is not called again
    values.merge(core_.memory.existing(Use::kFetched, lacking));
  } else if (std::optional<Claim> rest = core_.memory.take(Use::kFetched, lacking)) {
    values.merge(std::move(*rest));
  } else if (lacking > 0) {  // take() may fail even for 0 bytes, if caches exceed the budget
    const RowPlacement placement = batch.placement(task);
    for (int64_t i = task.begin; i < task.end; ++i) batch.job.drop_values(placement.row(i));
    return core_.options.memory.per_thread + more;
  }
  values.move_to(Use::kFetched);
  claim.merge(std::move(values));
  return std::nullopt;
}

void RowTasks::finish(WindowBatch& batch, RowTask& task) const {
  task.bytes.pieces.clear();  // the claim remains for values that wait for the batch
  task.record.clear();
  task.state = RowTask::Ready{};
  core_.end_flight(task.entry.flight);
  batch.summary.on_ready();
}

}  // namespace forebay
