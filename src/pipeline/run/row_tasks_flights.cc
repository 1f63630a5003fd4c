#include <utility>

#include "pipeline/run/row_tasks.h"

// Tasks that want the same cache entry: one makes it and the others wait for it (SingleFlight).

namespace forebay {

// Looks the sample up. If its entry is missing, the task gets the right to make it. Returns false
// if another task is making the entry: the task is then AwaitingEntry and is notified later.
bool RowTasks::claim_entry(const WindowBatchPtr& batch, RowTask& task) {
  while (true) {
    work_of(task).look_up(task, batch->job);
    RowEntry& entry = task.entry;
    if (task.bytes.looked_up && entry.may_proceed()) {
      if (!entry.missing) core_.end_flight(entry.flight);  // the entry was stored just before
      return true;
    }
    entry.flight = entry.missing->flights->begin(entry.missing->key);
    if (entry.flight) {
      // The earlier look-up may have missed an entry that was stored since, also under a version
      // that another loader has learned since.
      task.bytes.looked_up = task.bytes.looked_up && work_of(task).is_still_missing(task, batch->job);
    } else if (!is_oldest(batches_, *batch, &task)) {
      if (await_flight(batch, task, SingleFlight::Wait::kAny)) return false;
    } else if (!bypass_paused_flight(batch, task) && await_flight(batch, task, SingleFlight::Wait::kWorking)) {
      return false;
    }
  }
}

// Makes the task AwaitingEntry. Returns false, and changes nothing, if the entry's flight has
// ended, or is paused and must not be waited for. The caller then looks the entry up again.
bool RowTasks::await_flight(const WindowBatchPtr& batch, RowTask& task, SingleFlight::Wait what) {
  const uint64_t ticket = next_ticket();
  const size_t index = batch->index_of(task);
  const bool waits = task.entry.missing->flights->subscribe(
      task.entry.missing->key, what,
      [this, weak = core_.weakly_alive(), weak_batch = std::weak_ptr(batch), index, ticket] {
        const std::shared_ptr<void> alive = weak.lock();
        const WindowBatchPtr of = alive ? weak_batch.lock() : nullptr;
        if (of) on_flight_ended(*of, index, ticket);
      });
  if (waits) task.state = RowTask::AwaitingEntry{ticket};
  return waits;
}

// Called on the thread of the task that made the entry. The work continues on a thread of this run.
void RowTasks::on_flight_ended(WindowBatch& batch, size_t index, uint64_t ticket) {
  const RunCore::Lock lock(core_.mutex);
  RowTask& task = batch.tasks[index];
  const auto* awaiting = std::get_if<RowTask::AwaitingEntry>(&task.state);
  if (awaiting == nullptr || awaiting->ticket != ticket) return;
  batch.make_waiting(task);
  if (!core_.closed && core_.queue) core_.post_act();
}

// True if the missing entry is that of the whole sample, and not of one part of it.
bool RowTasks::makes_whole_entry(const RowTask& task) const {
  return plan_of(task).keyed_stage(task.entry.missing->stage).part.empty();
}

// Lets the oldest task of the run make the entry itself if the entry's flight is paused. It waits
// only for flights that progress by themselves: a paused one may wait for memory that this run
// holds, or for the consumer of another run, and that may be the thread that this run's consumer
// waits for. Returns false if the flight is at work or has ended.
bool RowTasks::bypass_paused_flight(const WindowBatchPtr& batch, RowTask& task) const {
  std::optional<SingleFlight::FlightState> state = task.entry.missing->flights->state(task.entry.missing->key);
  if (!state || state->working) return false;
  // The entry of a part of a zip has the stored bytes of that part alone.
  const bool is_whole = makes_whole_entry(task);
  task.entry.bypasses_flight = true;
  work_of(task).look_up(task, batch->job);
  if (state->stored && is_whole && plan_of(task).fetches) work_of(task).take_stored(task, std::move(*state->stored));
  return true;
}

void RowTasks::recheck_awaited(const WindowBatchPtr& batch, RowTask& task) const {
  if (!task.is<RowTask::AwaitingEntry>() || !is_oldest(batches_, *batch, &task)) return;
  const std::optional<SingleFlight::FlightState> state = task.entry.missing->flights->state(task.entry.missing->key);
  if (state && state->working) return;
  batch->make_waiting(task);
}

// Marks the task's flight as depending on this run: the task needs memory or a thread to continue.
// Other runs may then bypass it, and use the bytes that it has read.
void RowTasks::pause_flight(RowTask& task) const {
  if (!task.entry.flight) return;
  std::optional<SingleFlight::Stored> stored;
  const bool from_store = !task.bytes.has_any_entry() && !task.entry.on_version_read;
  // A row with the same entry of a part may have other objects.
  const bool is_whole = task.entry.missing && makes_whole_entry(task);
  if (task.bytes.pieces_read && task.bytes.pieces.size() == 1 && from_store && is_whole)
    stored = SingleFlight::Stored{task.bytes.only(), task.entry.version_read().value_or(0)};
  core_.notify_later(task.entry.flight->pause(std::move(stored)));
}

}  // namespace forebay
