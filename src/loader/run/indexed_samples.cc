#include "loader/run/indexed_samples.h"

#include <algorithm>

namespace forebay {

Result<std::vector<Rehearsal::Sample>> IndexedSamples::new_samples(const StepPlan& step) const {
  const int64_t behind = steps_->schedule().next_position({step.at.epoch, step.at.position});
  std::vector<int64_t> ids(static_cast<size_t>(std::min(behind, selection_->size()) - step.at.position));
  steps_->order(0)->ids_at(step.at.epoch, step.at.position, ids);
  const std::vector<int64_t> indices = ids;
  selection_->ids_at(ids);
  FOREBAY_ASSIGN(const std::vector<int64_t> labels, labels_.of(*source_, indices, ids));
  std::vector<Rehearsal::Sample> samples;
  for (size_t i = 0; i < ids.size(); ++i) samples.push_back({ids[i], labels[i]});
  return samples;
}

Status IndexedSamples::find(std::span<const int64_t> ids, std::span<const PlacedRecord>) {
  if (std::ranges::all_of(ids, [&](int64_t id) { return id < source_->size(); })) return {};
  return invalid_argument("\"rehearsal\" of this state keeps samples that the data set does not have");
}

}  // namespace forebay
