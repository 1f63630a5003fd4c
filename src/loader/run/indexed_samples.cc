#include "loader/run/indexed_samples.h"

#include <algorithm>

#include "format/joined/joined_samples.h"

namespace forebay {

Result<std::vector<Rehearsal::Sample>> IndexedSamples::new_samples(const StepPlan& step) const {
  const int64_t behind = steps_->schedule().next_position({step.at.epoch, step.at.position});
  const int64_t begin = step.at.position;
  std::vector<int64_t> indices(static_cast<size_t>(std::min(behind, selection_->size()) - begin));
  steps_->order(0)->ids_at(step.at.epoch, begin, indices);
  std::vector<int64_t> ids;
  for (size_t i = 0; i < indices.size(); ++i)
    ids.push_back(steps_->samples(0).id_at(indices[i], step.at.epoch, begin + static_cast<int64_t>(i)));
  FOREBAY_ASSIGN(const std::vector<int64_t> labels, labels_.of(*source_, indices, ids));
  std::vector<Rehearsal::Sample> samples;
  for (size_t i = 0; i < ids.size(); ++i) samples.push_back({ids[i], labels[i]});
  return samples;
}

Status IndexedSamples::find(std::span<const int64_t> ids, std::span<const PlacedRecord>) {
  const JoinedSamples* const joined = as_joined(*source_);
  const int64_t end = joined != nullptr ? joined->ids() : source_->size();
  if (std::ranges::all_of(ids, [&](int64_t id) { return id < end; })) return {};
  return invalid_argument("\"rehearsal\" of this state keeps samples that the data set does not have");
}

}  // namespace forebay
