#pragma once

#include <cstdint>

#include "pipeline/run/chunks.h"
#include "pipeline/run/run_core.h"
#include "pipeline/run/taking_back.h"
#include "pipeline/run/window_batch.h"

namespace forebay {

/// Who gives bytes back for whom: the oldest task that is not done gets what it needs, from whoever is younger; nobody else does.
/// Guarded by the run's lock.
class Room {
 public:
  /// `chunks`: null where rows are read one by one.
  Room(RunCore& core, Chunks* chunks, const TakingBack& taking_back, WindowBatches& batches)
      : core_(core), chunks_(chunks), taking_back_(taking_back), batches_(batches) {}

  /// For `bytes` that memory does not have: takes as much away from whoever is younger than `task` (null: than the whole batch), the
  /// youngest first. True when trying again makes sense now; otherwise what is running gives its bytes back when it is done. Where even everything
  /// together would not be enough, an error stands in the batch's place.
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

/// Room for the oldest task of a batch, as those ask for it who know no tasks.
class RoomForBatch final : public RoomMaker {
 public:
  RoomForBatch(const Room& room, WindowBatch& batch) : room_(room), batch_(batch) {}
  bool make_room(uint64_t bytes) override { return room_.make(batch_, &batch_.oldest(), bytes); }

 private:
  const Room& room_;
  WindowBatch& batch_;
};

}  // namespace forebay
