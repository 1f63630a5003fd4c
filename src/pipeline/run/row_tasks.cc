#include "pipeline/run/row_tasks.h"

#include <algorithm>
#include <utility>

#include "pipeline/run/row_tasks_call.h"

// Allocation of memory, threads and requests to tasks. row_tasks_results.cc has the processing of
// results.

namespace forebay {

Step RowTasks::start(const WindowBatchPtr& batch, RowTask& task, Actions& actions, Start how) {
  const bool ahead = how == Start::kReadOnly;
  if (!claim_entry(batch, task) || (ahead && task.bytes.is_hit())) return Step::kMoved;
  const Step step = ahead ? begin_ahead(batch, task, actions) : begin(batch, task, actions);
  // A task that could not start must not keep others waiting, so its flight ends.
  if (step != Step::kMoved)
    core_.end_flight(task.entry.flight);
  else if (task.is<RowTask::Read>())
    pause_flight(task);
  return step;
}

Step RowTasks::begin(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  const ExecutionPlan& plan = *core_.plan;
  const bool fetches = plan.fetches || (task.bytes.in_cache() && task.entry_needs_read);
  if (fetches && !task.bytes.is_hit()) return start_fetching(batch, task, actions);
  if (!plan.starts_with_user_code() || task.bytes.in_cache()) {
    task.state = RowTask::Read{};
    return Step::kMoved;
  }
  // Results of user code are charged when they arrive, even beyond the budget. If the memory is
  // full, only the oldest task may therefore call it.
  if (core_.memory.full() && !is_oldest(batches_, *batch, &task)) return Step::kNoBytes;
  call_user(batch, task);
  return Step::kMoved;
}

Step RowTasks::start_fetching(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  StoredBytes& bytes = task.bytes;
  // Another task may have read the bytes that it cannot use now.
  bool on_thread = bytes.in_memory;
  if (!on_thread) {
    core_.row_work.prepare_read(task, batch->job);
    // Reading on the compute thread saves a hand-over as long as it does not wait; after a miss in
    // the page cache it is tried again now and then. An object of unknown size is not read there,
    // since it may need more bytes than it was granted.
    StoreQueue& queue = core_.fetcher.queue(*bytes.store);
    const bool expected = queue.reads_now();
    on_thread = bytes.pieces.front().request.expected_size && queue.try_now();
    // A try after a miss queues even if the threads are full. On a busy machine there would
    // never be one otherwise.
    if (on_thread ? expected && core_.threads_full() : !queue.has_slot()) return Step::kNoSlot;
  }
  // The batch's memory comes first: a fetched row without a destination would have to be fetched
  // again.
  if (!reserve_slots(*batch, task)) return Step::kNoBytes;
  if (!bytes.in_memory && !is_front(batches_, *batch) && !core_.memory.leaves_assembly_room(bytes.size()))
    return Step::kNoBytes;
  TaskReclaimer others(reclaimer_, task);
  std::optional<Claim> claim = core_.memory.take(Use::kFetched, bytes.size(), &others);
  if (!claim) return Step::kNoBytes;
  read(task, std::move(*claim), on_thread ? ReadOn::kComputeThread : ReadOn::kStore, actions);
  return Step::kMoved;
}

Step RowTasks::compute(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  if (core_.threads_full()) return Step::kNoSlot;
  if (!reserve_slots(*batch, task)) return Step::kNoBytes;
  TaskReclaimer others(reclaimer_, task);
  std::optional<Claim> working = Claim();
  if (task.working_needed > 0) working = core_.memory.take(Use::kWorking, task.working_needed, &others);
  if (!working) return Step::kNoBytes;
  task.working_needed = 0;
  uses_.pin(*batch, task);
  task.state = RowTask::Running{std::move(*working)};
  if (task.entry.flight) task.entry.flight->resume();
  batch->summary.on_running();
  const size_t index = batch->index_of(task);
  const uint64_t unread = task.bytes.in_memory || task.stage > 0 ? 0 : kAboutUnread;
  core_.post(actions, batch->order(index), Work::kRows, batch->order(index) | unread,
             [this, batch, index](WorkMemory& memory) { work(batch, index, memory); });
  return Step::kMoved;
}

bool RowTasks::fetch_ahead(const WindowBatchPtr& batch, Actions& actions) {
  const Start how = core_.plan->starts_with_user_code() ? Start::kFull : Start::kReadOnly;
  for (size_t index = batch->summary.first_waiting(); index < batch->tasks.size(); ++index) {
    RowTask& task = batch->tasks[index];
    if (task.is<RowTask::Waiting>()) {
      if (start(batch, task, actions, how) != Step::kMoved) return false;
      batch->summary.on_start(index);
    }
    batch->summary.pass_waiting(index);
  }
  return true;
}

Step RowTasks::begin_ahead(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  StoredBytes& bytes = task.bytes;
  core_.row_work.prepare_read(task, batch->job);
  StoreQueue& queue = core_.fetcher.queue(*bytes.store);
  if (!queue.has_slot()) return Step::kNoSlot;
  // No memory is reclaimed for reads ahead.
  const uint64_t size = bytes.size();
  if (!core_.memory.may_fetch_ahead(size) || !core_.memory.leaves_assembly_room(size)) return Step::kNoBytes;
  std::optional<Claim> claim = core_.memory.take(Use::kFetched, size);
  if (!claim) return Step::kNoBytes;
  // If all tasks are read ahead, only this try can find that the page cache has the data by now.
  const bool on_thread = !queue.reads_now() && bytes.pieces.front().request.expected_size && queue.try_now();
  read(task, std::move(*claim), on_thread ? ReadOn::kComputeThread : ReadOn::kStore, actions);
  return Step::kMoved;
}

bool RowTasks::reserve_slots(WindowBatch& batch, const RowTask& task) const {
  const uint64_t bytes = core_.plan->batch_bytes(batch.size());
  while (!batch.job.has_slots() && !batch.job.acquire_slots(core_.memory.batches())) {
    if (!reclaimer_.reclaim(batch, &task, bytes - batch.job.claimed_bytes())) return false;
  }
  return true;
}

// kComputeThread: the bytes are in memory, or the compute thread that runs the task reads them.
void RowTasks::read(RowTask& task, Claim claim, ReadOn where, Actions& actions) {
  if (where == ReadOn::kComputeThread) {
    task.bytes.claim = std::move(claim);
    task.state = RowTask::Read{};
  } else {
    begin_reading(task, std::move(claim));
    send({task.batch->shared_from_this(), &task}, task.batch->order(task.batch->index_of(task)), actions);
  }
}

void RowTasks::call_user(const WindowBatchPtr& batch, RowTask& task) {
  const auto& stage = std::get<ForeignStage>(core_.plan->stages[task.stage]);
  const size_t index = batch->index_of(task);
  auto call = std::make_shared<Call>(*this, batch, index, next_ticket(), stage, foreign_input(stage, task));
  task.state = RowTask::InUserCode{call->ticket};
  if (task.entry.flight) task.entry.flight->resume();
  core_.calls.put(batch->order(index), std::move(call));
}

}  // namespace forebay
