#pragma once

#include <cstdint>

#include "pipeline/run/chunks.h"
#include "pipeline/run/revocation.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// Reclaims memory for tasks. Any task may cause idle memory to be freed. Only the oldest task that
/// is not done also gets the memory of cache entries and of younger tasks and batches. This keeps a
/// run from deadlocking. The window owns it; the run's lock guards it.
class WindowReclaimer {
 public:
  WindowReclaimer(RunCore& core, const ChunksByBranch& chunks, const Revocation& revocation, WindowBatches& batches)
      : core_(core), chunks_(chunks), revocation_(revocation), batches_(batches) {}

  /// Reclaims memory for `bytes` that were not available, from elements younger than `task`, the
  /// youngest first. `task` is null if the batch is being assembled. Returns true if the caller
  /// should try again now. Otherwise running tasks return memory when they end. If even all memory
  /// of the run is not enough, the batch fails.
  bool reclaim(WindowBatch& batch, const RowTask* task, uint64_t bytes) const;

 private:
  void yield_to(WindowBatch& batch, const RowTask* task, uint64_t bytes) const;
  bool is_enough(uint64_t bytes) const;
  bool raise_or_fail(WindowBatch& batch, const RowTask* task, uint64_t bytes) const;

  RunCore& core_;
  const ChunksByBranch& chunks_;
  const Revocation& revocation_;
  WindowBatches& batches_;
};

/// Reclaims memory for one task, on behalf of code that knows no tasks.
class TaskReclaimer final : public MemoryReclaimer {
 public:
  TaskReclaimer(const WindowReclaimer& reclaimer, const RowTask& task) : reclaimer_(reclaimer), task_(task) {}
  bool reclaim(uint64_t bytes) override { return reclaimer_.reclaim(*task_.batch, &task_, bytes); }

 private:
  const WindowReclaimer& reclaimer_;
  const RowTask& task_;
};

}  // namespace forebay
