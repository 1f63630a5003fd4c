#include "pipeline/run/taking_back.h"

#include <algorithm>

namespace forebay {

void TakingBack::drop_bytes(RowTask& task) const {
  core_.end(task.entry.making);
  task.claim.give_back();
  if (auto* ready = std::get_if<RowTask::Ready>(&task.at)) ready->grant.give_back();
  task.copied = Buffer();
  task.give_back();
}

void TakingBack::take_back(WindowBatch& batch, RowTask& task) const {
  batch.waiting_from = std::min(batch.waiting_from, batch.index_of(task));
  drop_bytes(task);
  uses_.use(batch, task);
  // A read in flight keeps its claim until it ends. Its answer is ignored.
  task.at = RowTask::Waiting{};
}

void TakingBack::yield(WindowBatch& batch, RowTask& task) const {
  if (!task.is<RowTask::Waiting>() && !task.is<RowTask::Awaiting>()) ++core_.retracted;
  core_.calls.forget(batch.order(batch.index_of(task)));
  take_back(batch, task);
}

void TakingBack::retract(WindowBatch& batch) const {
  if (batch.retracting) return;
  batch.retracting = true;
  for (RowTask& task : batch.tasks) {
    // Compute threads use the memory of Running tasks and of the assembly.
    if (batch.assembling == 0 && !task.is<RowTask::Running>()) yield(batch, task);
  }
  settle(batch);
}

void TakingBack::settle(WindowBatch& batch) const {
  if (!batch.retracting || batch.running > 0 || batch.assembling > 0) return;
  for (RowTask& task : batch.tasks) {
    uses_.forget_wider(batch, task);
    take_back(batch, task);
  }
  forget_replacements(batch);
  batch.job.clear_values();
  batch.job.drop_slots();
  batch.made.reset();
  batch.done = batch.first = 0;
  batch.complete = batch.unread = false;
  batch.retracting = false;
  if (batch.dropped) uses_.leave_all(batch);
}

void TakingBack::forget_replacements(WindowBatch& batch) const {
  for (int64_t i = 0; i < batch.size(); ++i) {
    RowJob& row = batch.job.rows()[static_cast<size_t>(i)];
    if (row.attempt == 0) continue;
    row.attempt = 0;
    row.id = batch.job.planned_id(*core_.steps, i);
  }
}

}  // namespace forebay
