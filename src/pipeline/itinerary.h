#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "forebay/result.h"
#include "plan/order.h"
#include "plan/packing.h"
#include "plan/schedule.h"

namespace forebay {

/// A place between two batches of the global order: all that a checkpoint needs. The same on every rank.
struct Cursor {
  int64_t epoch = 0;
  int64_t position = 0;  ///< samples of this epoch that are behind
  int64_t step = 0;      ///< batches of this epoch that are behind
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// A block of packed sequences in a step.
struct PlannedBlock {
  int64_t number = 0;  ///< in the packing
  Row row;             ///< as the schedule deals it
  size_t first = 0;    ///< of StepPlan::rows
};

/// One step of this rank.
struct StepPlan {
  Cursor at;
  Cursor after;  ///< where the next batch begins; the next epoch's beginning after the last one
  std::vector<Row> rows;
  /// Where sequences are packed: what the batch's rows are, and of each of `rows` which part of it goes where in its block.
  std::vector<PlannedBlock> blocks = {};
  std::vector<PackedPiece> pieces = {};
};

/// The plan as one rank walks through it: order, schedule and rank. Pure; shared by threads.
class Itinerary {
 public:
  /// `packing`: order and schedule are of its blocks. Null: of samples.
  Itinerary(std::shared_ptr<const Order> order, Schedule schedule, uint64_t seed, int64_t rank,
            std::optional<int64_t> epochs, std::shared_ptr<const Packing> packing = nullptr);

  const Order& order() const { return *order_; }
  const std::shared_ptr<const Order>& order_ptr() const { return order_; }
  const Schedule& schedule() const { return schedule_; }
  int64_t rank() const { return rank_; }

  /// No step comes at or after this place.
  bool finished(const Cursor& at) const;
  /// The step that begins at `at`. Nothing when finished, or when epochs have no steps at all.
  std::optional<StepPlan> step(const Cursor& at) const;
  /// Batches of the epoch `at` is in: those done plus those left.
  int64_t batches(const Cursor& at) const { return at.step + schedule_.steps_left(at.position); }
  /// Where the next batch after `at` is: `at` itself, or the next epoch's beginning if nothing is left of this one.
  Cursor normalized(const Cursor& at) const;

  /// Which samples the rows of a step are, in the numbering of the selection: all, and one of them.
  std::vector<int64_t> indices(const StepPlan& step) const;
  int64_t index(const StepPlan& step, int64_t row) const;
  /// The attempt-th stand-in for the sample at a position (attempt ≥ 1). Only without a packing.
  int64_t stand_in(int64_t epoch, int64_t position, int64_t attempt) const;

 private:
  void unpack(StepPlan& plan) const;

  std::shared_ptr<const Order> order_;
  Schedule schedule_;
  uint64_t seed_;
  int64_t rank_;
  std::optional<int64_t> epochs_;
  std::shared_ptr<const Packing> packing_;
};

}  // namespace forebay
