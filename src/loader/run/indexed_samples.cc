#include "loader/run/indexed_samples.h"

#include <algorithm>

#include "format/joined/joined_samples.h"

namespace forebay {

std::vector<RunSamples::Drawn> IndexedSamples::drawn(const StepPlan& step) const {
  const std::shared_ptr<const IndexedItinerary> steps = steps_->steps();
  const PlanNode& plan = steps->plan();
  const int64_t begin = step.at.position;
  int64_t end = std::min(steps->schedule().next_position({step.at.epoch, begin}), plan.size());
  // A step that ends the run, because a stream has ended, is shorter than planned.
  if (step.after.epoch == step.at.epoch) end = std::min(end, step.after.position);
  std::vector<Draw> draws(static_cast<size_t>(end - begin));
  plan.draws(step.at.epoch, begin, draws);
  std::vector<Drawn> all;
  all.reserve(draws.size());
  for (const Draw& draw : draws) {
    const auto leaf = static_cast<size_t>(draw.leaf);
    const int64_t id = branch(leaf).id_at(draw.place, steps->samples(leaf).id_at(draw.index, draw.pass, draw.place));
    if (!branch(leaf).is_missing(id)) all.push_back({leaf, draw.index, id});
  }
  return all;
}

Result<Restore> ReplayedDataSet::find(std::span<const int64_t> ids, std::span<const PlacedRecord>) const {
  const JoinedSamples* const joined = as_joined(*source_);
  const int64_t end = joined != nullptr ? joined->ids() : source_->size();
  if (std::ranges::all_of(ids, [&](int64_t id) { return id < end; })) return Restore([] {});
  return invalid_argument("\"rehearsal\" of this state keeps samples that the data set does not have");
}

}  // namespace forebay
