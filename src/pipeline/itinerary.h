#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "plan/order.h"
#include "plan/packing.h"
#include "plan/rehearsal.h"
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

/// A row of a step that no new sample came for.
struct VacantRow {
  size_t row = 0;
  int64_t number = 0;      ///< among those of all ranks
  KeptSample sample = {};  ///< the old one that stands there
};

/// One step of this rank.
struct StepPlan {
  Cursor at;
  Cursor after;  ///< where the next batch begins; the next epoch's beginning after the last one
  std::vector<Row> rows;
  /// Where old samples are rehearsed; their ids are the source's. `rows` has them from `old_at` on.
  std::vector<KeptSample> old = {};
  size_t old_at = 0;
  /// Rows for which a stream had no record when they were needed, and the old samples that stand there.
  std::vector<VacantRow> vacant = {};
  int64_t vacant_of_all = 0;  ///< over all ranks
  /// The old sample that a row is; nothing for new ones.
  std::optional<KeptSample> old_sample(int64_t row) const;
  bool is_old(int64_t row) const { return old_sample(row).has_value(); }
  /// Where sequences are packed: what the batch's rows are, and of each of `rows` which part of it goes where in its block.
  std::vector<PlannedBlock> blocks = {};
  std::vector<PackedPiece> pieces = {};
};

/// Which samples the rows of a step are. Pure: whatever it says of a step, it says always. Shared by threads.
class Itinerary {
 public:
  virtual ~Itinerary() = default;

  /// Rows that a step of this rank has, but for the last ones of an epoch.
  virtual int64_t batch_size() const = 0;
  /// Which samples the rows of a step are, in the numbering of the selection: all, and one of them. Of old ones any number.
  virtual std::vector<int64_t> indices(const StepPlan& step) const = 0;
  virtual int64_t index(const StepPlan& step, int64_t row) const = 0;
  /// How many other samples may stand in for a bad one,
  virtual int64_t replacements() const = 0;
  /// and the attempt-th of them for the sample at a position (1 ≤ attempt ≤ replacements()). Only without a packing.
  virtual int64_t replacement(int64_t epoch, int64_t position, int64_t attempt) const = 0;
  /// Of all samples; null where there is no such order.
  virtual std::shared_ptr<const Order> order() const { return nullptr; }
};

/// The steps of a run, one after another. What comes at a place may depend on what has arrived and on the steps that were asked for
/// before, so a run calls step() in order and from one thread at a time, and the rest from any thread; asking for the same place again gives the
/// same step. One source belongs to one run. Before that goes on elsewhere, the owner of the source says so to it.
class StepSource : public Itinerary {
 public:
  /// Batches of the epoch `at` is in: those done plus those left. Nothing where it has no end.
  virtual std::optional<int64_t> batches(const Cursor& at) const = 0;
  /// Nothing is left of the epoch `at` is in.
  virtual bool epoch_over(const Cursor& at) const = 0;
  /// No step comes at or after this place.
  virtual bool finished(const Cursor& at) const = 0;
  /// Whether it is known by now what comes at this place; if not, the run is told when it is. Sources without an end know only what has arrived.
  virtual bool known(const Cursor& /*at*/) { return true; }
  /// The trainer waits for the step at this place, and nothing is being prepared: what it needs is read whatever memory it takes.
  virtual void awaits(const Cursor& /*at*/) {}
  /// The same, without patience. Whether it is known now, where it was not. Called with a run's lock held.
  virtual bool hurry(const Cursor& /*at*/) { return false; }
  /// The step that begins at `at`. Nothing when finished, when epochs have no steps at all, or where it is not known yet.
  virtual std::optional<StepPlan> step(const Cursor& at) = 0;
  /// Why no step is ever known from here on. OK for all that is well, or only slow.
  virtual Status failure() const { return {}; }
  /// What a place that is not known waits for, for the log.
  virtual std::string awaited() const { return {}; }
};

/// The steps of indexed sources, from order, schedule and rank. Pure: any thread may ask for any place.
class IndexedItinerary final : public StepSource {
 public:
  /// `packing`: order and schedule are of its blocks. Null: of samples.
  IndexedItinerary(std::shared_ptr<const Order> order, Schedule schedule, uint64_t seed, int64_t rank,
                   std::optional<int64_t> epochs, std::shared_ptr<const Packing> packing = nullptr);

  const Schedule& schedule() const { return schedule_; }
  int64_t rank() const { return rank_; }
  /// Where the next batch after `at` is: `at` itself, or the next epoch's beginning if nothing is left of this one.
  Cursor normalized(const Cursor& at) const;

  int64_t batch_size() const override { return schedule_.options().batch_size; }
  std::optional<int64_t> batches(const Cursor& at) const override {
    return at.step + schedule_.steps_left(at.position);
  }
  bool epoch_over(const Cursor& at) const override { return schedule_.steps_left(at.position) == 0; }
  bool finished(const Cursor& at) const override;
  std::optional<StepPlan> step(const Cursor& at) override { return planned(at); }
  /// The same step, of which nothing is changed by asking.
  std::optional<StepPlan> planned(const Cursor& at) const;
  std::vector<int64_t> indices(const StepPlan& step) const override;
  int64_t index(const StepPlan& step, int64_t row) const override;
  int64_t replacements() const override { return order_->size() - 1; }
  int64_t replacement(int64_t epoch, int64_t position, int64_t attempt) const override;
  std::shared_ptr<const Order> order() const override { return order_; }

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
