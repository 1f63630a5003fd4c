#pragma once

#include "pipeline/run/block_uses.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// Revokes tasks and batches: they release the memory that they hold and start again later. The
/// reclaimer calls it for memory, and the window for seeks and errors. The window owns it; the
/// run's lock guards it.
class Revocation {
 public:
  Revocation(RunCore& core, const BlockUses& uses) : core_(core), uses_(uses) {}

  /// Releases all bytes that the task has fetched or was granted. The state remains.
  void drop_bytes(RowTask& task) const;
  /// Makes the task Waiting. Not for a task that is Running.
  void revoke(WindowBatch& batch, RowTask& task) const;
  /// Revokes a task in favour of an older one. A call of its user code that nobody has taken is
  /// abandoned.
  void yield(WindowBatch& batch, RowTask& task) const;
  /// Revokes the batch. Tasks that are Running keep their memory until finish_revoking().
  void revoke_batch(WindowBatch& batch) const;
  /// Completes revoke_batch() once no compute thread works for the batch. Does nothing otherwise.
  void finish_revoking(WindowBatch& batch) const;

 private:
  void forget_replacements(WindowBatch& batch) const;

  RunCore& core_;
  const BlockUses& uses_;
};

}  // namespace forebay
