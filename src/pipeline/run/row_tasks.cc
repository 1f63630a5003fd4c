#include "pipeline/run/row_tasks.h"

#include <algorithm>
#include <utility>

#include "pipeline/run/row_tasks_away.h"
#include "pipeline/run/run_trace.h"

// Allocation of memory, threads and requests to tasks. row_tasks_back.cc has the processing of
// results.

namespace forebay {

Step RowTasks::start(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  if (!may_make(batch, task)) return Step::kMoved;
  const Step step = begin(batch, task, actions);
  begun(task, step);
  return step;
}

// A task that could not start must not keep others waiting, so its flight ends.
void RowTasks::begun(RowTask& task, Step step) const {
  if (step != Step::kMoved)
    core_.end(task.entry.making);
  else if (task.is<RowTask::Ready>())
    rests(task);
}

Step RowTasks::begin(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  const ExecutionPlan& plan = *core_.plan;
  const bool fetches = plan.fetches || (task.entry.stored() != nullptr && task.entry_is_cold);
  if (fetches && task.entry.hit() == nullptr) return start_fetching(batch, task, actions);
  if (!plan.starts_with_user_code() || task.entry.in_cache()) {
    task.at = RowTask::Ready{};
    return Step::kMoved;
  }
  // Results of user code are charged when they arrive, even beyond the budget. If the memory is
  // full, only the oldest task may therefore call it.
  if (core_.memory.full() && !is_oldest(batches_, *batch, &task)) return Step::kNoBytes;
  call_user(batch, task);
  return Step::kMoved;
}

Step RowTasks::start_fetching(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  if (task.fetched_all) return claim_stored(batch, task);
  const SampleSource::Fetch fetch = core_.row_work.fetch_of(task, batch->job);
  // Reading on the compute thread saves a hand-over as long as it does not wait; after a cold read
  // it is tried again now and then. An object of unknown size is not read there, since it may need
  // more bytes than it was granted.
  StoreLine& line = core_.fetcher.line(*fetch.store);
  const bool warm = line.reads_now();
  const bool synchronous = fetch.request.expected_size && line.try_now();
  // A try after a cold read queues even if the threads are full. On a busy machine there would
  // never be one otherwise.
  if (synchronous ? warm && core_.threads_full() : !line.has_slot()) return Step::kNoSlot;
  // The batch's memory comes first: a fetched row without a destination would have to be fetched
  // again.
  if (!reserve_slots(*batch, task)) return Step::kNoBytes;
  if (!is_front(batches_, *batch) && !core_.memory.leaves_last_step(fetch.size)) return Step::kNoBytes;
  std::optional<Claim> claim;
  while (!(claim = core_.memory.take(Use::kFetched, fetch.size))) {
    if (!reclaimer_.reclaim(*batch, &task, fetch.size)) return Step::kNoBytes;
  }
  task.claim = std::move(*claim);
  if (synchronous) {
    task.at = RowTask::Ready{};
  } else {
    read(batch, task, actions);
  }
  return Step::kMoved;
}

// Starts a task with bytes that another task has read but cannot use now.
Step RowTasks::claim_stored(const WindowBatchPtr& batch, RowTask& task) const {
  if (!reserve_slots(*batch, task)) return Step::kNoBytes;
  std::optional<Claim> claim;
  while (!(claim = core_.memory.take(Use::kFetched, task.fetched.size()))) {
    if (!reclaimer_.reclaim(*batch, &task, task.fetched.size())) return Step::kNoBytes;
  }
  task.claim = std::move(*claim);
  task.at = RowTask::Ready{};
  return Step::kMoved;
}

Step RowTasks::compute(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  if (core_.threads_full()) return Step::kNoSlot;
  if (!reserve_slots(*batch, task)) return Step::kNoBytes;
  auto& ready = std::get<RowTask::Ready>(task.at);
  while (ready.needs > ready.grant.bytes()) {
    const uint64_t more = ready.needs - ready.grant.bytes();
    if (std::optional<Claim> claim = core_.memory.take(Use::kWorking, more)) {
      ready.grant.merge(std::move(*claim));
    } else if (!reclaimer_.reclaim(*batch, &task, more)) {
      return Step::kNoBytes;
    }
  }
  uses_.pin(*batch, task);
  task.at = RowTask::Running{std::move(ready.grant)};
  if (task.entry.making) task.entry.making->works();
  ++batch->running;
  const size_t index = batch->index_of(task);
  const uint64_t unread = task.fetched_all || task.stage > 0 ? 0 : kAboutUnread;
  core_.post(actions, batch->order(index), Work::kRows, batch->order(index) | unread,
             [this, batch, index](WorkMemory& memory) { work(batch, index, memory); });
  return Step::kMoved;
}

bool RowTasks::fetch_ahead(const WindowBatchPtr& batch, Actions& actions) {
  for (size_t index = batch->waiting_from; index < batch->tasks.size(); ++index) {
    RowTask& task = batch->tasks[index];
    if (task.is<RowTask::Waiting>()) {
      if (start_ahead(batch, task, actions) != Step::kMoved) return false;
      batch->untouched = std::max(batch->untouched, index + 1);
    }
    if (index == batch->waiting_from) ++batch->waiting_from;
  }
  return true;
}

Step RowTasks::start_ahead(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  if (core_.plan->starts_with_user_code()) return start(batch, task, actions);
  if (!may_make(batch, task) || task.entry.hit() != nullptr) return Step::kMoved;
  const Step step = begin_ahead(batch, task, actions);
  begun(task, step);
  return step;
}

Step RowTasks::begin_ahead(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  const SampleSource::Fetch fetch = core_.row_work.fetch_of(task, batch->job);
  StoreLine& line = core_.fetcher.line(*fetch.store);
  if (!line.has_slot()) return Step::kNoSlot;
  // No memory is reclaimed for reads ahead.
  if (!core_.memory.may_fetch_ahead(fetch.size) || !core_.memory.leaves_last_step(fetch.size)) return Step::kNoBytes;
  std::optional<Claim> claim = core_.memory.take(Use::kFetched, fetch.size);
  if (!claim) return Step::kNoBytes;
  task.claim = std::move(*claim);
  // If all tasks are read ahead, only this try can find that the page cache has the data by now.
  if (!line.reads_now() && fetch.request.expected_size && line.try_now()) {
    task.at = RowTask::Ready{};
  } else {
    read(batch, task, actions);
  }
  return Step::kMoved;
}

bool RowTasks::reserve_slots(WindowBatch& batch, const RowTask& task) const {
  const uint64_t bytes = core_.plan->batch_bytes(batch.size());
  while (!batch.job.has_slots() && !batch.job.acquire_slots(core_.memory.batches())) {
    if (!reclaimer_.reclaim(batch, &task, bytes - batch.job.claimed_bytes())) return false;
  }
  return true;
}

void RowTasks::read(const WindowBatchPtr& batch, RowTask& task, Actions& actions) {
  SampleSource::Fetch fetch = core_.row_work.fetch_of(task, batch->job);
  if (!fetch.request.expected_size) fetch.request.set_aside_bytes = task.claim.bytes();
  // The claim belongs to the read from here on: a task that is revoked meanwhile must not release
  // memory that is being written to.
  const auto read = std::make_shared<Read>(*this, batch, batch->index_of(task), core_.fetcher.line(*fetch.store),
                                           std::move(fetch.request), std::move(task.claim));
  core_.fetcher.begin(*read);
  task.at = RowTask::Fetching{read.get()};
  if (task.entry.making) task.entry.making->works();
  actions.flights.push_back(read);
}

void RowTasks::call_user(const WindowBatchPtr& batch, RowTask& task) {
  const auto& stage = std::get<ForeignStage>(core_.plan->stages[task.stage]);
  const size_t index = batch->index_of(task);
  auto call = std::make_shared<Call>(*this, batch, index, ++tickets_, stage, foreign_input(stage, task));
  task.at = RowTask::WithUser{tickets_};
  if (task.entry.making) task.entry.making->works();
  core_.calls.put(batch->order(index), std::move(call));
}

}  // namespace forebay
