#pragma once

#include <cstdint>

#include "pipeline/run/chunks.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/taking_back.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// Reclaims memory for tasks. Any task may cause idle memory to be freed. Only the oldest task that
/// is not done also gets the memory of cache entries and of younger tasks and batches. This keeps a
/// run from deadlocking. The window owns it; the run's lock guards it.
class Room {
 public:
  /// `chunks`: null if rows are read one by one.
  Room(RunCore& core, Chunks* chunks, const TakingBack& taking_back, WindowBatches& batches)
      : core_(core), chunks_(chunks), taking_back_(taking_back), batches_(batches) {}

  /// Reclaims memory for `bytes` that were not available, from elements younger than `task`, the
  /// youngest first. `task` is null if the batch is being assembled. Returns true if the caller
  /// should try again now. Otherwise running tasks return memory when they end. If even all memory
  /// of the run is not enough, the batch fails.
  bool make(WindowBatch& batch, const RowTask* task, uint64_t bytes) const;

 private:
  void yield_to(WindowBatch& batch, const RowTask* task, uint64_t bytes) const;
  bool is_enough(uint64_t bytes) const;
  bool raise_or_fail(WindowBatch& batch, const RowTask* task, uint64_t bytes) const;

  RunCore& core_;
  Chunks* const chunks_;
  const TakingBack& taking_back_;
  WindowBatches& batches_;
};

/// Reclaims memory for the oldest task of a batch, on behalf of Chunks, which knows no tasks.
class RoomForBatch final : public RoomMaker {
 public:
  RoomForBatch(const Room& room, WindowBatch& batch) : room_(room), batch_(batch) {}
  bool make_room(uint64_t bytes) override { return room_.make(batch_, &batch_.oldest(), bytes); }

 private:
  const Room& room_;
  WindowBatch& batch_;
};

}  // namespace forebay
