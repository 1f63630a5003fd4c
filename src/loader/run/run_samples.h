#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stream/replay_state.h"
#include "stream/replay_steps.h"

namespace forebay {

/// Makes samples of a state that were located those of the replay buffer.
using Restore = std::function<void()>;

/// Knows the samples of one branch that a replay buffer may keep, by their ids in the source of the
/// branch. RunSamples calls all methods, which have the meaning of those of StepSamples.
class ReplayBranch {
 public:
  virtual ~ReplayBranch() = default;
  /// The id of the sample that the leaf of the branch draws at `place`, where its source has `id`.
  virtual int64_t id_at(int64_t /*place*/, int64_t id) const { return id; }
  /// Returns true if a record did not come in time, so that there is no such sample.
  virtual bool is_missing(int64_t /*id*/) const { return false; }
  /// Labels of new samples, by their indices in the selection and their ids.
  virtual Result<std::vector<int64_t>> labels(std::span<const int64_t> indices, std::span<const int64_t> ids) const = 0;
  /// `next`: the first id that was not new yet.
  virtual Status retain(std::span<const int64_t> /*entered*/, int64_t /*next*/) { return {}; }
  virtual void release(std::span<const int64_t> /*left*/) {}
  virtual void start_fetch(std::span<const int64_t> /*ids*/) {}
  virtual void on_delivered(std::span<const int64_t> /*ids*/) {}
  virtual Result<bool> all_available(std::span<const int64_t> /*ids*/) const { return true; }
  virtual std::string awaited() const { return {}; }
  /// Returns these samples as records of a log. Nothing if their ids are enough to find them again.
  virtual std::optional<std::vector<PlacedRecord>> records(std::span<const int64_t> /*ids*/) const { return {}; }
  /// Locates the samples of a state, from their ids and from what records() returned, and returns
  /// what makes them those of the replay buffer. Nothing changes before. InvalidArgument if they
  /// cannot be samples of this run.
  virtual Result<Restore> find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) const = 0;
  /// StateMismatch if this run, from its beginning, has other samples under these ids.
  virtual Status check_before(std::span<const int64_t> /*ids*/) const { return {}; }
};

/// The samples of a run's steps, for a replay buffer. The id of a sample in the run tells its branch
/// and its id there; it is the latter if there is one branch.
class RunSamples : public StepSamples {
 public:
  explicit RunSamples(std::vector<std::shared_ptr<ReplayBranch>> branches)
      : branches_(std::move(branches)), branch_bits_(std::bit_width(branches_.size() - 1)) {}

  Result<std::vector<Rehearsal::Sample>> new_samples(const StepPlan& step) const final;
  void assign(int64_t id, Row& row) const final;
  Status retain(std::span<const Rehearsal::Sample> fresh, std::span<const int64_t> entered) final;
  void release(std::span<const int64_t> left) final;
  void start_fetch(std::span<const int64_t> ids) final;
  void on_delivered(std::span<const int64_t> ids) final;
  Result<bool> all_available(std::span<const int64_t> ids) const final;
  std::string awaited() const final;

  // Those of all branches.
  std::optional<std::vector<PlacedRecord>> records(std::span<const int64_t> ids) const;
  Result<Restore> find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) const;
  Status check_before(std::span<const int64_t> ids) const;

 protected:
  /// A new sample of a step.
  struct Drawn {
    size_t branch = 0;
    int64_t index = 0;  ///< in the selection of the branch
    int64_t id = 0;     ///< in its source
  };
  /// The new samples of a step over all ranks, in global order.
  virtual std::vector<Drawn> drawn(const StepPlan& step) const = 0;
  const ReplayBranch& branch(size_t number) const { return *branches_[number]; }

 private:
  using ByBranch = std::vector<std::vector<int64_t>>;
  // The lowest bits of an id are the branch.
  int64_t id_in_run(size_t branch, int64_t id) const {
    return static_cast<int64_t>(static_cast<uint64_t>(id) << branch_bits_ | branch);
  }
  size_t branch_of(int64_t id) const { return static_cast<size_t>(id & ((int64_t{1} << branch_bits_) - 1)); }
  int64_t id_in_branch(int64_t id) const { return id >> branch_bits_; }
  ByBranch by_branch(std::span<const int64_t> ids) const;
  template <typename Call>
  void for_each(std::span<const int64_t> ids, Call call) const;

  const std::vector<std::shared_ptr<ReplayBranch>> branches_;
  const int branch_bits_;
};

}  // namespace forebay
