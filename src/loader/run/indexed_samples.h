#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/source.h"
#include "loader/run/current_steps.h"
#include "loader/run/run_samples.h"
#include "loader/run/sample_labels.h"

namespace forebay {

/// The samples of a data set. Their ids are enough to find them again.
class ReplayedDataSet final : public ReplayBranch {
 public:
  ReplayedDataSet(SampleLabels labels, std::shared_ptr<const Source> source)
      : labels_(std::move(labels)), source_(std::move(source)) {}

  Result<std::vector<int64_t>> labels(std::span<const int64_t> indices, std::span<const int64_t> ids) const override {
    return labels_.of(*source_, indices, ids);
  }
  Result<Restore> find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) const override;

 private:
  const SampleLabels labels_;
  const std::shared_ptr<const Source> source_;
};

/// The samples of the steps of a plan.
class IndexedSamples final : public RunSamples {
 public:
  /// `branches`: by leaf of the plan.
  IndexedSamples(std::vector<std::shared_ptr<ReplayBranch>> branches, std::shared_ptr<const CurrentSteps> steps)
      : RunSamples(std::move(branches)), steps_(std::move(steps)) {}

 private:
  std::vector<Drawn> drawn(const StepPlan& step) const override;

  const std::shared_ptr<const CurrentSteps> steps_;
};

}  // namespace forebay
