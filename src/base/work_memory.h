#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/step_meter.h"
#include "forebay/status.h"

namespace forebay {

/// The working memory of one compute thread, counted against the engine's byte budget.
///
/// A task starts with a grant. An operator that needs memory beyond its slot of the batch calls
/// reserve() *before* it allocates. If the grant is too small, reserve() returns OutOfBudget with
/// bytes_needed(), and the task returns that status. The engine runs the task again from the start
/// once that many bytes are free, or reports the error if they never can be. So everything before a
/// reserve() must be cheap and free of side effects.
///
/// Used by one thread at a time.
class WorkMemory {
 public:
  static constexpr int kSlots = 4;

  explicit WorkMemory(uint64_t grant = UINT64_MAX) : grant_(grant) {}

  /// Begins a new task: nothing is reserved, and scratch memory beyond `keep` bytes in all is
  /// freed.
  void begin_task(uint64_t grant, uint64_t keep);
  uint64_t grant() const { return grant_; }
  uint64_t reserved() const { return reserved_; }

  Status reserve(uint64_t bytes);
  void release(uint64_t bytes) { reserved_ -= bytes; }

  /// `size` bytes of reusable memory (64-byte aligned, not initialised, readable for 64 bytes
  /// more). A second call with the same slot may move it. The bytes must have been reserved.
  std::span<uint8_t> scratch(int slot, size_t size);

  /// Books the thread's CPU time to steps of the pipeline.
  StepMeter& meter() { return meter_; }

 private:
  struct Slot {
    std::unique_ptr<uint8_t, void (*)(void*)> memory{nullptr, nullptr};
    size_t size = 0;
  };
  uint64_t grant_;
  uint64_t reserved_ = 0;
  Slot slots_[kSlots];
  StepMeter meter_;
};

}  // namespace forebay
