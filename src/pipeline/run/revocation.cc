#include "pipeline/run/revocation.h"

#include <algorithm>

namespace forebay {

void Revocation::drop_bytes(RowTask& task) const {
  core_.end_flight(task.entry.flight);
  task.copied = Buffer();
  task.reset();
}

void Revocation::revoke(WindowBatch& batch, RowTask& task) const {
  drop_bytes(task);
  uses_.add_user(batch, task);
  // A read in flight keeps its claim until it ends. Its answer is ignored.
  batch.make_waiting(task);
}

void Revocation::yield(WindowBatch& batch, RowTask& task) const {
  if (!task.is<RowTask::Waiting>() && !task.is<RowTask::AwaitingEntry>()) ++core_.reclaimed;
  core_.calls.abandon(batch.order(batch.index_of(task)));
  revoke(batch, task);
}

void Revocation::revoke_batch(WindowBatch& batch) const {
  if (batch.revoking) return;
  batch.revoking = true;
  const size_t calls = batch.made ? std::max<size_t>(batch.made->ids.size(), 1) : 1;
  for (size_t row = 0; row < calls; ++row) core_.calls.abandon(batch.order_of_row(row));
  for (RowTask& task : batch.tasks) {
    // Compute threads use the memory of Running tasks and of the assembly.
    if (batch.assembling == 0 && !task.is<RowTask::Running>()) yield(batch, task);
  }
  finish_revoking(batch);
}

void Revocation::finish_revoking(WindowBatch& batch) const {
  if (!batch.revoking || batch.summary.running() > 0 || batch.assembling > 0) return;
  for (RowTask& task : batch.tasks) {
    uses_.undo_widen(batch, task);
    revoke(batch, task);
  }
  forget_replacements(batch);
  batch.job.reset_rows();
  batch.job.drop_slots();
  batch.made.reset();
  batch.summary.on_batch_revoked();
  batch.next_function = 0;
  batch.call_ticket = 0;
  batch.assembled = batch.complete = batch.retry_when_due = false;
  batch.revoking = false;
  if (batch.dropped) uses_.release_all(batch);
}

void Revocation::forget_replacements(WindowBatch& batch) const {
  for (int64_t i = 0; i < batch.size(); ++i) {
    RowJob& row = batch.job.rows()[static_cast<size_t>(i)];
    if (row.attempt == 0) continue;
    row.attempt = 0;
    row.id = batch.job.planned(i).id;
  }
}

}  // namespace forebay
