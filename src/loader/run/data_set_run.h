#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/cache.h"
#include "loader/peers/peer_group.h"
#include "loader/run/current_steps.h"
#include "loader/run/run.h"
#include "loader/samples/data_plan.h"
#include "loader/samples/open_schedule.h"

namespace forebay {

/// A run over a data set. All samples are known before it begins; their order follows from the
/// seed.
class DataSetRun final : public Run {
 public:
  /// Also connects the ranks, if the options ask for it.
  static Result<std::shared_ptr<DataSetRun>> open(const RunInput& input, std::shared_ptr<const Source> source);

  std::shared_ptr<const Source> source() const override { return source_; }
  bool needs_pass() const override;

  Status choose(RunSetup& setup) override;
  Status order(RunSetup& setup) override;
  Status open_steps(RunSetup& setup) override;
  std::shared_ptr<StepSource> steps() const override { return steps_; }
  /// The steps as they follow from plan and schedule. After open_steps().
  const std::shared_ptr<CurrentSteps>& planned_steps() const { return current_; }

  int64_t size() const override { return data_.size(); }
  int64_t last_epoch() const override { return data_.last_epoch(); }
  Cursor earliest() const override { return data_.changes.since; }
  std::string changes_version() const override;
  int64_t passes_before(size_t branch, const Cursor& at) const override;
  std::string selection_version() const override { return data_.version(); }
  std::string shard_assignment() const override { return job_steps_.assignment.name; }
  Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const override;
  std::shared_ptr<RunSamples> samples(std::vector<SampleLabels> labels) override;
  /// The samples of a branch. After choose().
  std::shared_ptr<ReplayBranch> replayed(size_t branch, SampleLabels labels) const;

  Status before_batch(const Cursor& at) override;
  void advanced_to(const Cursor& at) override;

  Result<Resume> change(const PlanEdit& edit, const Cursor& at) override;
  Result<Checkpoint> with_changed_parts(const Checkpoint& saved) const override;
  std::vector<SavedPart> parts() const override { return parts_at({}); }

  void save(Checkpoint& state) const override;
  Result<Resume> load(const Checkpoint& saved) override;
  bool is_endless() const override { return false; }
  Status write_journal(const std::string& path, const Cursor& at) override;

  void pause() override { current_->pause(); }
  void resume_at_epoch() override;

  void add_to(Ledger& ledger) const override;
  void release() override;

  /// Tells the ranks of that job how far this one is, and which changes its plan has had, so that
  /// those that differ get an error.
  void tell_ranks(std::shared_ptr<Job> job);

 private:
  DataSetRun(const RunInput& input, std::shared_ptr<const Source> source) : input_(input), source_(std::move(source)) {}
  Result<std::shared_ptr<EntryCache>> open_cache(const BranchData& branch, size_t step, const Hash128& cached,
                                                 uint64_t least_bytes);
  CompileInput compile_input(const CompileInput& whole, BranchData& branch);
  Result<CompileInput> choose_branch(RunSetup& setup, const CompileInput& whole, BranchData& branch);
  Status join_parts(BranchData& branch);
  AssignmentRequest assignment_request(int64_t world_size) const;
  std::shared_ptr<IndexedItinerary> itinerary() const;
  Status expect_steps_in_order(const std::string& what) const;
  Result<DataPlan> with_plan(DataPlan data) const;
  Result<bool> apply(DataPlan data);
  Status check_position(const Checkpoint& saved) const;
  Status load_changes(const PlanChanges& changes);
  void share_entries(const ExecutionPlan& plan);
  bool may_change() const;
  int64_t number_of(const Cursor& at) const;
  std::vector<SavedPart> parts_at(const Cursor& at) const;
  SizingInput::Mixing mixing_of(const BranchData& branch) const;

  const RunInput& input_;
  std::shared_ptr<const Source> source_;  // choose() joins the parts of a zip anew, if they choose samples
  std::shared_ptr<PeerGroup> peers_;      // null: one rank, or ranks without peers=
  std::shared_ptr<Job> job_;              // whose ranks have the same plan; null if there are no others
  // By the identity of their content; null for those that keep nothing.
  std::vector<std::pair<Hash128, std::shared_ptr<TieredCache>>> caches_;
  std::vector<OwnedElements> cached_;  // by branch; empty without `peers_`
  DataPlan data_;
  size_t choices_ = 0;  // made so far, as PassResults counts them
  JobSteps job_steps_;
  std::shared_ptr<IndexedItinerary> indexed_;
  std::shared_ptr<CurrentSteps> current_;
  int64_t asked_in_epoch_ = -1;        // the epoch at whose beginning rank 0 was last asked about changes
  std::shared_ptr<StepSource> steps_;  // `current_`, or a decorator of it
};

}  // namespace forebay
