#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "pipeline/partner_draws.h"
#include "pipeline/selection.h"
#include "plan/equal_batches.h"
#include "plan/node.h"
#include "plan/order.h"
#include "plan/packing.h"
#include "plan/rehearsal.h"
#include "plan/schedule.h"

namespace forebay {

/// Largest epoch: far beyond any training, and sums with it do not overflow.
inline constexpr int64_t kMaxEpoch = int64_t{1} << 53;

/// A place between two global batches. It is the same on every rank, and all that a checkpoint
/// needs.
struct Cursor {
  int64_t epoch = 0;
  int64_t position = 0;  ///< samples of this epoch before the place, over all ranks
  int64_t step = 0;      ///< batches of this epoch before the place
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// A block of packed sequences in a step.
struct PlannedBlock {
  int64_t number = 0;  ///< number of the block in the packing of its branch, or else in the epoch
  Row row;             ///< row that the schedule assigns to this rank
  size_t first = 0;    ///< index in StepPlan::rows of its first sequence
};

/// A row of a step for which a stream had no new record in time. A replayed sample takes its place.
struct MissingRow {
  size_t row = 0;
  int64_t number = 0;  ///< number of the row among the missing rows of all ranks
};

/// The rows of one step of this rank.
struct StepPlan {
  Cursor at;
  Cursor after;  ///< start of the next step; after the last one, start of the next epoch
  std::vector<Row> rows;
  std::vector<MissingRow> missing_rows = {};
  int64_t missing_rows_of_all = 0;  ///< number of missing rows over all ranks
  /// The replayed sample of a row. Nothing if the row has a new sample.
  std::optional<ReplaySample> replayed_sample(int64_t row) const {
    const Row& of = rows[static_cast<size_t>(row)];
    return of.replayed ? std::optional(ReplaySample{of.id, of.pass}) : std::nullopt;
  }
  bool is_replayed(int64_t row) const { return rows[static_cast<size_t>(row)].replayed; }
  /// For packed sequences: the blocks of the step, and for each of `rows` the part of its sequence
  /// that goes into a block. Empty otherwise.
  std::vector<PlannedBlock> blocks = {};
  std::vector<PackedPiece> pieces = {};
};

/// Answers questions about the samples of a run, from any thread. Answers change only before a seek.
class Itinerary {
 public:
  virtual ~Itinerary() = default;

  /// Most rows that a step of this rank has. Steps may have fewer, the last ones of an epoch for
  /// example.
  virtual int64_t batch_size() const = 0;
  /// Number of replacements that a bad sample of a branch can have.
  virtual int64_t replacements(size_t branch) const = 0;
  /// The id of the `attempt`-th replacement for the sample of a row, 1 ≤ attempt ≤ replacements().
  /// It is another sample of the same branch. Not for packed sequences.
  virtual int64_t replacement(const Row& row, int64_t attempt) const = 0;
  /// The order of the samples of a branch. Null if there is none, as for streams.
  virtual std::shared_ptr<const Order> order(size_t /*branch*/) const { return nullptr; }
  /// The first place of a branch, in the passes of its order, that a step at `at` or later may
  /// have.
  virtual Order::Use next_place(size_t /*branch*/, const Cursor& at) const { return {at.epoch, at.position}; }
  /// Whether a step of the run may have rows of that pass of the branch.
  virtual bool has_pass(size_t /*branch*/, int64_t /*pass*/) const { return true; }
};

/// The steps of one run, one after another. A step may depend on the records that have arrived and
/// on the steps before it. The run therefore calls step() in order and from one thread at a time;
/// the other methods may be called from any thread. step() returns the same step for the same
/// place. The run's owner notifies the step source before the run continues at another place.
class StepSource : public Itinerary {
 public:
  /// Number of batches in the epoch of `at`: those before `at` and those left. Nothing if the epoch
  /// has no end.
  virtual std::optional<int64_t> batches(const Cursor& at) const = 0;
  /// Whether the epoch of `at` has no step at or after `at`.
  virtual bool epoch_over(const Cursor& at) const = 0;
  /// Whether no epoch has a step at or after `at`.
  virtual bool finished(const Cursor& at) const = 0;
  /// Requests the step at `at`. Returns whether step() can return it now; otherwise the run is
  /// notified once it can. A stream reads and decides the records of the step for this.
  virtual bool request_step(const Cursor& /*at*/) { return true; }
  /// Called when the trainer waits for the step at `at` and no batch is being prepared. The source
  /// then reads what the step needs, whatever memory that takes.
  virtual void set_awaited(const Cursor& /*at*/) {}
  /// Like set_awaited(), but a source that need not wait decides at once with the records that it
  /// has. Returns whether the step became known by that. Called with the run's lock held.
  virtual bool decide_now(const Cursor& /*at*/) { return false; }
  /// The step that begins at `at`. Nothing if finished(at), if it is not known yet, or if epochs
  /// have no steps.
  virtual std::optional<StepPlan> step(const Cursor& at) = 0;
  /// The error after which there will be no further step. OK as long as steps can still come.
  virtual Status failure() const { return {}; }
  /// For the log: describes the event that the next step waits for.
  virtual std::string awaited() const { return {}; }
};

/// The samples of one branch: its leaf of the plan numbers them.
struct BranchSamples {
  std::shared_ptr<const Selection> selection;
  uint64_t seed = 0;  ///< decides replacements
  /// Blocks of packed sequences. If there are any, the leaf numbers these.
  std::shared_ptr<const Packing> packing = nullptr;
  /// Parts of a zip with draws of their own; null if there are none. Not with packed sequences.
  std::shared_ptr<const PartnerDraws> partners = nullptr;

  /// The id of the sample with that index in the selection, drawn at `place` of `pass`.
  int64_t id_at(int64_t index, int64_t pass, int64_t place) const {
    const int64_t id = selection->id_at(index);
    return partners ? partners->joined(id, pass, place) : id;
  }
};

/// The steps of indexed sources. They follow from plan, schedule and rank alone, so any thread may
/// ask for any place.
class IndexedItinerary final : public StepSource {
 public:
  /// `branches`: by leaf of the plan.
  IndexedItinerary(std::shared_ptr<const PlanNode> plan, std::vector<BranchSamples> branches,
                   std::shared_ptr<const Schedule> schedule, int64_t rank, std::optional<int64_t> epochs);
  /// The steps of one data set in batches of one size.
  IndexedItinerary(std::shared_ptr<const Order> order, BranchSamples samples, EqualBatches batches, int64_t rank,
                   std::optional<int64_t> epochs);

  const Schedule& schedule() const { return *schedule_; }
  const PlanNode& plan() const { return *plan_; }
  const BranchSamples& samples(size_t branch) const { return branches_[branch]; }
  int64_t rank() const { return rank_; }
  /// The start of the next batch: `at` itself, or the start of the next epoch if this one is over.
  Cursor normalized(const Cursor& at) const;

  int64_t batch_size() const override { return schedule_->most_rows(); }
  std::optional<int64_t> batches(const Cursor& at) const override {
    return at.step + schedule_->steps_left({at.epoch, at.position});
  }
  bool epoch_over(const Cursor& at) const override { return !schedule_->has_step({at.epoch, at.position}); }
  bool finished(const Cursor& at) const override;
  std::optional<StepPlan> step(const Cursor& at) override { return planned(at); }
  /// Like step(), as a const method.
  std::optional<StepPlan> planned(const Cursor& at) const;
  /// Fills in which samples rows have, from their positions in the order of delivery. Rows that are
  /// blocks of the whole plan have no sample; their id is the number of the block in the epoch.
  void locate(int64_t epoch, std::span<Row> rows) const;
  int64_t replacements(size_t branch) const override { return plan_->order(branch).size() - 1; }
  int64_t replacement(const Row& row, int64_t attempt) const override;
  std::shared_ptr<const Order> order(size_t branch) const override { return {plan_, &plan_->order(branch)}; }
  Order::Use next_place(size_t branch, const Cursor& at) const override;
  bool has_pass(size_t branch, int64_t pass) const override;

 private:
  void locate_some(int64_t epoch, std::span<const int64_t> positions, std::span<Row> rows) const;
  void add_partners(std::span<Row> rows) const;
  void unpack(StepPlan& plan) const;
  void unpack_shared(const PackedWindows& windows, StepPlan& plan) const;

  const std::shared_ptr<const PlanNode> plan_;
  const std::vector<BranchSamples> branches_;
  const bool has_partners_;
  const std::shared_ptr<const Schedule> schedule_;
  const int64_t rank_;
  const std::optional<int64_t> epochs_;
};

}  // namespace forebay
