#pragma once

#include "pipeline/run/block_uses.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// How tasks and batches give back what they hold, to begin anew later. Guarded by the run's lock.
class TakingBack {
 public:
  TakingBack(RunCore& core, const BlockUses& uses) : core_(core), uses_(uses) {}

  /// Everything that was fetched or granted; of whatever is in the state.
  void drop_bytes(RowTask& task) const;
  /// The task waits again. Not while it runs.
  void take_back(WindowBatch& batch, RowTask& task) const;
  /// The same for one that had begun, for the sake of an older one: its call of user code is forgotten.
  void yield(WindowBatch& batch, RowTask& task) const;
  /// The batch gives back all it holds; what compute threads look into follows when they are done (settle()).
  void retract(WindowBatch& batch) const;
  /// The second half of that, once no compute thread works for the batch.
  void settle(WindowBatch& batch) const;

 private:
  void forget_replacements(WindowBatch& batch) const;

  RunCore& core_;
  const BlockUses& uses_;
};

}  // namespace forebay
