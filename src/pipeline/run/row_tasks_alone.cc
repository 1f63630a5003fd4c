#include <algorithm>
#include <utility>

#include "pipeline/run/row_tasks.h"

// Tasks that want the same entry of a cache: one makes it, the others wait for that (SingleFlight).

namespace forebay {

// Looks the sample up. Where its entry is missing the task gets the right to make it; false where another task makes it, of which this one is
// told later.
bool RowTasks::may_make(const WindowBatchPtr& batch, RowTask& task) {
  while (true) {
    core_.row_work.look_up(task, batch->job);
    RowEntry& entry = task.entry;
    if (entry.settled()) {
      if (!entry.wanted) core_.end(entry.making);  // it was put just before
      return true;
    }
    entry.making = entry.wanted->flights->begin(entry.wanted->key);
    if (entry.making) {
      // An earlier look may be one from before it was put, also by a loader that has learned the version since.
      entry.looked_up = entry.looked_up && core_.row_work.is_still_missing(task, batch->job);
    } else if (!is_oldest(batches_, *batch, &task)) {
      if (await(batch, task, SingleFlight::Wait::kAny)) return false;
    } else if (!make_beside(batch, task) && await(batch, task, SingleFlight::Wait::kWorking)) {
      return false;
    }
  }
}

// False where the entry's flight has ended, or rests now and is not to be waited for, so that all is to be looked at again.
bool RowTasks::await(const WindowBatchPtr& batch, RowTask& task, SingleFlight::Wait what) {
  const uint64_t ticket = ++tickets_;
  const size_t index = batch->index_of(task);
  const bool waits = task.entry.wanted->flights->wait(
      task.entry.wanted->key, what,
      [this, weak = core_.weakly_alive(), weak_batch = std::weak_ptr(batch), index, ticket] {
        const std::shared_ptr<void> alive = weak.lock();
        const WindowBatchPtr of = alive ? weak_batch.lock() : nullptr;
        if (of) told(*of, index, ticket);
      });
  if (waits) task.at = RowTask::Awaiting{ticket};
  return waits;
}

// On whatever thread the entry's maker was; what follows is done on one of this run.
void RowTasks::told(WindowBatch& batch, size_t index, uint64_t ticket) {
  const RunCore::Lock lock(core_.mutex);
  RowTask& task = batch.tasks[index];
  const auto* awaiting = std::get_if<RowTask::Awaiting>(&task.at);
  if (awaiting == nullptr || awaiting->ticket != ticket) return;
  task.at = RowTask::Waiting{};
  batch.waiting_from = std::min(batch.waiting_from, index);
  if (!core_.closed && core_.queue) core_.act_on_a_thread();
}

// The oldest task of a run waits only for what moves on by itself: a maker that rests may wait for memory that this run holds, or for the consumer of
// another run, which may be the thread that this run's consumer waits on.
bool RowTasks::make_beside(const WindowBatchPtr& batch, RowTask& task) const {
  std::optional<SingleFlight::Look> look = task.entry.wanted->flights->look(task.entry.wanted->key);
  if (!look || look->working) return false;
  task.entry.beside = true;
  core_.row_work.look_up(task, batch->job);
  if (look->stored && core_.plan->fetches) core_.row_work.take_stored(task, std::move(*look->stored));
  return true;
}

void RowTasks::look_at_awaited(const WindowBatchPtr& batch, RowTask& task) const {
  if (!task.is<RowTask::Awaiting>() || !is_oldest(batches_, *batch, &task)) return;
  const std::optional<SingleFlight::Look> look = task.entry.wanted->flights->look(task.entry.wanted->key);
  if (look && look->working) return;
  task.at = RowTask::Waiting{};
  batch->waiting_from = std::min(batch->waiting_from, batch->index_of(task));
}

// The task needs memory or a thread of this run before it goes on.
void RowTasks::rests(RowTask& task) const {
  if (!task.entry.making) return;
  std::optional<SingleFlight::Stored> stored;
  if (task.fetched_all && !task.entry.in_cache() && task.entry.question() == nullptr)
    stored = SingleFlight::Stored{task.fetched, task.entry.version_read().value_or(0)};
  core_.tell(task.entry.making->rests(std::move(stored)));
}

}  // namespace forebay
