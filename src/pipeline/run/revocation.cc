#include "pipeline/run/revocation.h"

namespace forebay {

void Revocation::drop_bytes(RowTask& task) const {
  core_.end(task.entry.making);
  task.copied = Buffer();
  task.give_back();
}

void Revocation::revoke(WindowBatch& batch, RowTask& task) const {
  drop_bytes(task);
  uses_.use(batch, task);
  // A read in flight keeps its claim until it ends. Its answer is ignored.
  batch.wait(task);
}

void Revocation::yield(WindowBatch& batch, RowTask& task) const {
  if (!task.is<RowTask::Waiting>() && !task.is<RowTask::Awaiting>()) ++core_.reclaimed;
  core_.calls.forget(batch.order(batch.index_of(task)));
  revoke(batch, task);
}

void Revocation::revoke_batch(WindowBatch& batch) const {
  if (batch.revoking) return;
  batch.revoking = true;
  for (RowTask& task : batch.tasks) {
    // Compute threads use the memory of Running tasks and of the assembly.
    if (batch.assembling == 0 && !task.is<RowTask::Running>()) yield(batch, task);
  }
  settle(batch);
}

void Revocation::settle(WindowBatch& batch) const {
  if (!batch.revoking || batch.running > 0 || batch.assembling > 0) return;
  for (RowTask& task : batch.tasks) {
    uses_.forget_wider(batch, task);
    revoke(batch, task);
  }
  forget_replacements(batch);
  batch.job.clear_values();
  batch.job.drop_slots();
  batch.made.reset();
  batch.done = batch.first = 0;
  batch.complete = batch.unread = false;
  batch.revoking = false;
  if (batch.dropped) uses_.leave_all(batch);
}

void Revocation::forget_replacements(WindowBatch& batch) const {
  for (int64_t i = 0; i < batch.size(); ++i) {
    RowJob& row = batch.job.rows()[static_cast<size_t>(i)];
    if (row.attempt == 0) continue;
    row.attempt = 0;
    row.id = batch.job.planned_id(*core_.steps, i);
  }
}

}  // namespace forebay
