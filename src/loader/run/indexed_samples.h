#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "loader/run/run.h"
#include "loader/run/sample_labels.h"
#include "pipeline/itinerary.h"

namespace forebay {

/// The samples of a data set's steps. Their ids are enough to find them again.
class IndexedSamples final : public RunSamples {
 public:
  IndexedSamples(const SampleLabels& labels, std::shared_ptr<const Source> source,
                 std::shared_ptr<const Selection> selection, std::shared_ptr<const IndexedItinerary> steps)
      : labels_(labels), source_(std::move(source)), selection_(std::move(selection)), steps_(std::move(steps)) {}

  Result<std::vector<Rehearsal::Sample>> new_samples(const StepPlan& step) const override;
  Status find(std::span<const int64_t> ids, std::span<const PlacedRecord> records) override;

 private:
  const SampleLabels labels_;
  const std::shared_ptr<const Source> source_;
  const std::shared_ptr<const Selection> selection_;
  const std::shared_ptr<const IndexedItinerary> steps_;
};

}  // namespace forebay
