#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pipeline/description.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// Input of compile(). The description must live until compile() returns.
struct CompileInput {
  const Description* description = nullptr;
  /// Steps [0, end) are compiled. With `as_filter`, the filter at index `end` becomes the last
  /// stage, and its answer is the only output.
  size_t end = 0;
  bool as_filter = false;
  std::shared_ptr<const Source> source;
  std::shared_ptr<const Selection> selection;
  uint64_t seed = 0;
  /// For each step, its number in the whole pipeline. Empty if that is its index.
  std::span<const size_t> numbers = {};
  /// The branch of a pipeline with several, and its name. Empty if it is the only one.
  struct BranchName {
    std::string name;
    /// The fields of all branches, in the order of batches. Empty: as they come.
    std::vector<std::string> fields = {};
    /// Asks user code, which may return any fields, for these.
    bool selects = false;
    /// Fields whose type or shape is not known in all branches, so that no branch relies on it.
    std::set<std::string> unsized = {};
    /// Rows of unknown shape are values. Otherwise they may be references to chunks, which all
    /// branches of a batch then have.
    bool as_values = false;
  };
  std::optional<BranchName> branch = {};
  /// Turns on the traces of all branches of a run.
  std::shared_ptr<TraceSwitch> trace = std::make_shared<TraceSwitch>();
  /// Opens the cache of the description's `.cache()` at `step`, for the content that `place`
  /// identifies. Every entry has at least `least_bytes`. Null: the plan leaves that cache out. If
  /// empty, the plan uses no caches.
  std::function<Result<std::shared_ptr<EntryCache>>(size_t step, const Hash128& place, uint64_t least_bytes)>
      open_cache = {};
  /// Cache and keys for the results that a `.rehearse(where="here")` records. If `cache` is null,
  /// nothing is recorded, and the results of replayed samples are computed again.
  struct Replayed {
    std::shared_ptr<EntryCache> cache = {};
    std::shared_ptr<const StageKeys> keys = {};
  };
  Replayed replayed = {};
  /// The sequences of the description's `.pack()`. Nothing if there is no such step, or if the lengths
  /// are not known yet; then rows come one by one, each at its own length.
  std::optional<PackedSequences> packing = {};
  /// Fields that decide which rows share a block and are measured already, so that no pass reads them.
  std::set<std::string> measured = {};
  /// The step that needs the plan for a pass, as messages name it; empty for other plans. Results of
  /// a pass hold in all epochs. InvalidArgument if they would depend on a part of a zip with draws of
  /// its own.
  std::string pass_of = {};
};

/// Compiles a description that check() accepted into a plan for the runner. Steps whose results
/// are never read are left out, together with the reads that they would need; this does not change
/// the random numbers of the other steps. The reduced description is checked again: Internal, with
/// both descriptions, if it is invalid or gives other fields.
Result<std::shared_ptr<const BranchPlan>> compile(const CompileInput& input);
/// The same for all branches of a pipeline, with the stages for whole batches. Sets
/// BranchName::unsized.
Result<ExecutionPlan> compile(std::span<CompileInput> branches, std::vector<BatchStage> batch_stages = {});

}  // namespace forebay
