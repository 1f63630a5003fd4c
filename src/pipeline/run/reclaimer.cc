#include "pipeline/run/reclaimer.h"

#include <utility>

#include "pipeline/run/memory_error.h"

namespace forebay {

bool WindowReclaimer::reclaim(WindowBatch& batch, const RowTask* task, uint64_t bytes) const {
  if (core_.memory.trim(bytes)) return true;
  // This prevents deadlock: memory is only reclaimed for one task, and whatever it waits for is
  // running.
  if (!is_oldest(batches_, batch, task)) return false;
  if (core_.memory.drop_cached(bytes)) return true;
  const uint64_t before = core_.memory.used();
  yield_to(batch, task, bytes);
  if (core_.memory.used() < before) return true;
  // As long as anything runs, its end returns memory and lets the run advance.
  return !core_.anything_running() && raise_or_fail(batch, task, bytes);
}

// Revokes elements younger than the task, the youngest first, until `bytes` are available. Chunks
// are dropped only if nothing else can be revoked.
void WindowReclaimer::yield_to(WindowBatch& batch, const RowTask* task, uint64_t bytes) const {
  const uint64_t before = core_.memory.used();
  for (size_t i = batches_.size(); i-- > 1;) {
    revocation_.revoke_batch(*batches_[i]);
    if (is_enough(bytes)) return;
  }
  for (size_t i = batch.tasks.size(); i-- > 0 && task != nullptr && &batch.tasks[i] != task;) {
    RowTask& other = batch.tasks[i];
    if (!other.is<RowTask::Reading>() && !other.is<RowTask::Runnable>() && !other.is<RowTask::InUserCode>()) continue;
    revocation_.yield(batch, other);
    if (is_enough(bytes)) return;
  }
  if (core_.memory.used() < before) return;
  const RowTask* const oldest = batch.all_done() ? nullptr : &batch.oldest();
  const ChunkBlock* const needed =
      oldest != nullptr && batch.has_block(*oldest) ? batch.block_of(*oldest).get() : nullptr;
  for (const auto& chunks : chunks_) {
    if (chunks) chunks->drop_others(needed);
  }
  core_.memory.trim();  // the memory that was just released is idle in the pools
}

// Trims the pools first, since memory that was just released is idle there.
bool WindowReclaimer::is_enough(uint64_t bytes) const {
  core_.memory.trim(bytes);
  return core_.memory.used() + bytes <= core_.memory.capacity();
}

// Raises the budget to the bytes that the task needs. If that is not possible, the batch fails.
bool WindowReclaimer::raise_or_fail(WindowBatch& batch, const RowTask* task, uint64_t bytes) const {
  const bool refused = core_.memory.system_refuses();
  Status status = refused ? system_lacks_memory() : insufficient_memory(core_, batch, task, bytes);
  if (status.bytes_needed() > core_.memory.capacity() && core_.memory.raise(status.bytes_needed())) return true;
  batch.job.fatal = refused ? std::move(status) : with_sufficient_bytes(core_, std::move(status));
  batch.complete = true;
  core_.changed.notify_all();
  return false;
}

}  // namespace forebay
