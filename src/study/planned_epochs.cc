#include "study/planned_epochs.h"

#include <algorithm>

namespace forebay {

template <typename Visit>
void PlannedEpochs::for_each_row(const EpochPlan& plan, const Visit& visit) {
  for (const PlannedStep& step : plan.first) {
    const size_t rows = step.ids.size() - static_cast<size_t>(step.padding);
    for (size_t i = 0; i < rows; ++i) visit(Sample{step.parts.empty() ? 0 : step.parts[i], step.ids[i]}, step, i);
  }
}

PlannedEpochs::PlannedEpochs(std::span<const EpochPlan> plans, size_t parts) {
  const auto sort_samples = [this] {
    std::ranges::sort(samples_);
    samples_.erase(std::unique(samples_.begin(), samples_.end()), samples_.end());
  };
  for (const EpochPlan& plan : plans) {
    for_each_row(plan, [&](const Sample& sample, const PlannedStep&, size_t) { samples_.push_back(sample); });
    sort_samples();  // in between, so that epochs of the same samples take no more memory
  }
  for (size_t part = 0; part <= parts; ++part)
    begins_.push_back(std::ranges::lower_bound(samples_, static_cast<int32_t>(part), {}, &Sample::part) -
                      samples_.begin());
  for (const EpochPlan& plan : plans) {
    std::vector<uint32_t>& rows = rows_.emplace_back();
    std::vector<int64_t>& ends = ends_.emplace_back();
    for_each_row(plan, [&](const Sample& sample, const PlannedStep& step, size_t row) {
      const auto position = static_cast<size_t>(step.positions[row]);
      if (rows.size() <= position) rows.resize(position + 1);
      rows[position] = static_cast<uint32_t>(std::ranges::lower_bound(samples_, sample) - samples_.begin());
    });
    for (const PlannedStep& step : plan.first) {
      const int64_t begin = ends.empty() ? 0 : ends.back();
      if (std::ssize(step.ids) > step.padding) ends.push_back(begin + std::ssize(step.ids) - step.padding);
    }
  }
  first_positions_.assign(samples_.size(), static_cast<uint32_t>(size()));
  for (size_t position = rows_.front().size(); position-- > 0;)
    first_positions_[rows_.front()[position]] = static_cast<uint32_t>(position);
}

int64_t PlannedEpochs::position_of(int64_t epoch, int64_t id) const {
  if (epoch == 0) return first_positions_[static_cast<size_t>(id)];
  const std::vector<uint32_t>& rows = rows_[static_cast<size_t>(epoch)];
  const auto found = std::ranges::find(rows, static_cast<uint32_t>(id));
  return found == rows.end() ? size() : found - rows.begin();
}

void PlannedEpochs::ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const {
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = id_at(epoch, begin + static_cast<int64_t>(i));
}

}  // namespace forebay
