#include "pipeline/run/row_tasks.h"

#include <algorithm>
#include <utility>

#include "pipeline/run/row_tasks_call.h"

// Allocation of memory, threads and requests to tasks. row_tasks_results.cc has the processing of
// results.

namespace forebay {

AdvanceResult RowTasks::start(const WindowBatchPtr& batch, RowTask& task, Actions& actions, Start how) {
  const bool ahead = how == Start::kReadOnly;
  if (!claim_entry(batch, task) || (ahead && task.bytes.found_in_memory())) return AdvanceResult::kMoved;
  const AdvanceResult result =
      ahead ? start_read_ahead(batch, task, actions) : start_with_all_resources(batch, task, actions);
  // A task that could not start must not keep others waiting, so its flight ends.
  if (result != AdvanceResult::kMoved)
    core_.end_flight(task.entry.flight);
  else if (task.is<RowTask::Runnable>())
    pause_flight(task);
  return result;
}

AdvanceResult RowTasks::start_with_all_resources(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  const BranchPlan& plan = plan_of(task);
  const bool fetches = plan.fetches || (task.bytes.has_any_entry() && task.entry_needs_read);
  if (fetches && !task.bytes.found_in_memory()) return start_read(batch, task, actions);
  if (!plan.starts_with_user_code() || task.bytes.has_entry()) {
    task.state = RowTask::Runnable{};
    return AdvanceResult::kMoved;
  }
  // Results of user code are charged when they arrive, even beyond the budget. If the memory is
  // full, only the oldest task may therefore call it.
  if (core_.memory.full() && !is_oldest(batches_, *batch, &task)) return AdvanceResult::kLacksMemory;
  call_user(batch, task);
  return AdvanceResult::kMoved;
}

AdvanceResult RowTasks::start_read(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  StoredBytes& bytes = task.bytes;
  // Another task may have read the bytes already, without being able to use them now.
  if (!bytes.pieces_read) work_of(task).prepare_read(task, batch->job);
  const std::optional<ReadOn> reader = choose_reader(bytes);
  if (!reader) return AdvanceResult::kLacksSlot;
  // The batch's memory comes first: a fetched row without a destination would have to be fetched
  // again.
  if (!reserve_slots(*batch, task)) return AdvanceResult::kLacksMemory;
  if (!bytes.pieces_read && !is_front(batches_, *batch) && !core_.memory.leaves_assembly_room(bytes.size()))
    return AdvanceResult::kLacksMemory;
  TaskReclaimer others(reclaimer_, task);
  std::optional<Claim> claim = core_.memory.take(Use::kFetched, bytes.size(), &others);
  if (!claim) return AdvanceResult::kLacksMemory;
  send_read_or_make_runnable(task, std::move(*claim), *reader, actions);
  return AdvanceResult::kMoved;
}

// Reading on the compute thread saves a hand-over as long as it does not wait; after a miss in the
// page cache it is tried again now and then. Returns nothing if the threads have enough tasks, or
// the store has no request slot.
std::optional<RowTasks::ReadOn> RowTasks::choose_reader(const StoredBytes& bytes) {
  if (!bytes.needs_read()) return ReadOn::kComputeThread;
  StoreSlots& slots = core_.fetcher.slots_of(*bytes.store);
  // An object of unknown size is not read on a compute thread, since it may need more bytes than it
  // was granted.
  if (bytes.pieces.front().request.expected_size && slots.should_try_page_cache()) {
    // A try after a miss is posted even if the threads are full. On a busy machine there would
    // never be one otherwise.
    if (slots.expects_page_cache_hit() && core_.threads_full()) return std::nullopt;
    return ReadOn::kComputeThread;
  }
  return slots.has_slot() ? std::optional(ReadOn::kStore) : std::nullopt;
}

AdvanceResult RowTasks::compute(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  if (core_.threads_full()) return AdvanceResult::kLacksSlot;
  if (!reserve_slots(*batch, task)) return AdvanceResult::kLacksMemory;
  TaskReclaimer others(reclaimer_, task);
  std::optional<Claim> working = Claim();
  if (task.working_needed > 0) working = core_.memory.take(Use::kWorking, task.working_needed, &others);
  if (!working) return AdvanceResult::kLacksMemory;
  task.working_needed = 0;
  uses_.pin(*batch, task);
  task.state = RowTask::Running{std::move(*working)};
  if (task.entry.flight) task.entry.flight->resume();
  batch->summary.on_running();
  const size_t index = batch->index_of(task);
  const uint64_t unread = task.bytes.pieces_read || task.stage > 0 ? 0 : kUnreadTraceId;
  core_.post(actions, batch->order(index), Work::kRows, batch->order(index) | unread,
             [this, batch, index](WorkMemory& memory) { work(batch, index, memory); });
  return AdvanceResult::kMoved;
}

bool RowTasks::fetch_ahead(const WindowBatchPtr& batch, Actions& actions) {
  for (size_t index = batch->summary.first_waiting(); index < batch->tasks.size(); ++index) {
    RowTask& task = batch->tasks[index];
    const BranchPlan& plan = plan_of(task);
    if (task.is<RowTask::Waiting>() && (plan.fetches || plan.starts_with_user_code())) {
      const Start how = plan.starts_with_user_code() ? Start::kFull : Start::kReadOnly;
      if (start(batch, task, actions, how) != AdvanceResult::kMoved) return false;
      batch->summary.on_start(index);
    }
    batch->summary.pass_waiting(index);
  }
  return true;
}

AdvanceResult RowTasks::start_read_ahead(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  StoredBytes& bytes = task.bytes;
  work_of(task).prepare_read(task, batch->job);
  StoreSlots& slots = core_.fetcher.slots_of(*bytes.store);
  if (!slots.has_slot()) return AdvanceResult::kLacksSlot;
  // No memory is reclaimed for reads ahead.
  const uint64_t size = bytes.size();
  if (!core_.memory.may_fetch_ahead(size) || !core_.memory.leaves_assembly_room(size))
    return AdvanceResult::kLacksMemory;
  std::optional<Claim> claim = core_.memory.take(Use::kFetched, size);
  if (!claim) return AdvanceResult::kLacksMemory;
  // If all tasks are read ahead, only this try can find that the page cache has the data by now.
  const bool retries_page_cache = bytes.needs_read() && !slots.expects_page_cache_hit() &&
                                  bytes.pieces.front().request.expected_size && slots.should_try_page_cache();
  const bool on_thread = retries_page_cache || !bytes.needs_read();
  send_read_or_make_runnable(task, std::move(*claim), on_thread ? ReadOn::kComputeThread : ReadOn::kStore, actions);
  return AdvanceResult::kMoved;
}

bool RowTasks::reserve_slots(WindowBatch& batch, const RowTask& task) const {
  const uint64_t bytes = core_.plan.batch_bytes(batch.size());
  while (!batch.job.has_slots() && !batch.job.acquire_slots(core_.memory.batches())) {
    if (!reclaimer_.reclaim(batch, &task, bytes - batch.job.claimed_bytes())) return false;
  }
  return true;
}

// `claim` is the memory for the bytes.
void RowTasks::send_read_or_make_runnable(RowTask& task, Claim claim, ReadOn reader, Actions& actions) {
  if (reader == ReadOn::kComputeThread) {
    task.bytes.claim = std::move(claim);
    task.state = RowTask::Runnable{};
  } else {
    begin_reading(task, std::move(claim));
    send({task.batch->shared_from_this(), &task}, task.batch->order(task.batch->index_of(task)), Requests::kTogether,
         actions);
  }
}

void RowTasks::call_user(const WindowBatchPtr& batch, RowTask& task) {
  const auto& stage = std::get<ForeignStage>(plan_of(task).stages[task.stage]);
  const size_t index = batch->index_of(task);
  auto call = std::make_shared<Call>(*this, batch, index, next_ticket(), stage, foreign_input(stage, task));
  task.state = RowTask::InUserCode{call->ticket};
  if (task.entry.flight) task.entry.flight->resume();
  core_.calls.put(batch->order(index), std::move(call));
}

}  // namespace forebay
