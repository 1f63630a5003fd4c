#include "study/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace forebay {

namespace {

// Student's t for a two-sided 95 % interval, by degrees of freedom from 1 on.
double t_of(size_t freedom) {
  constexpr std::array kTable = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23};
  if (freedom <= kTable.size()) return kTable[freedom - 1];
  // Rounded up between the entries, so that intervals are rather too wide.
  return freedom <= 20 ? 2.21 : freedom <= 60 ? 2.09 : 2.0;
}

Estimate with_bounds(double value, double off) { return {value, std::max(value - off, 0.0), value + off}; }

}  // namespace

Estimate ratio_of(std::span<const Group> groups, double share) {
  double units = 0, sum = 0;
  for (const Group& group : groups) {
    units += group.units;
    sum += group.sum;
  }
  // Without observations there is no figure, and no division by 0.
  if (units <= 0) return {};
  // A ratio of sums: in a mean of ratios, small groups at the end of an epoch would weigh as much
  // as others.
  const double ratio = sum / units;
  if (groups.size() < 2) return {ratio};
  double squares = 0;
  // Deviation of each group from the value that its size predicts.
  for (const Group& group : groups) squares += std::pow(group.sum - ratio * group.units, 2);
  const auto count = static_cast<double>(groups.size());
  // 1 - share is the finite population correction: once all samples are observed, there is no
  // error.
  const double variance = (1 - std::clamp(share, 0.0, 1.0)) * squares / (count - 1) / count;
  // Divided by the mean group size, since the deviations are of sums and the result is per unit.
  return with_bounds(ratio, t_of(groups.size() - 1) * std::sqrt(variance) / (units / count));
}

Estimate mean_of(std::span<const double> values) {
  std::vector<Group> groups;
  for (const double value : values) groups.push_back({1, value});
  return ratio_of(groups);
}

Estimate times(const Estimate& estimate, double factor) {
  Estimate scaled{estimate.value * factor};
  if (estimate.low) scaled.low = *estimate.low * factor;
  if (estimate.high) scaled.high = *estimate.high * factor;
  return scaled;
}

Estimate inverse(const Estimate& estimate) {
  Estimate turned{estimate.value > 0 ? 1 / estimate.value : 0};
  if (estimate.low && *estimate.low > 0) turned.high = 1 / *estimate.low;
  if (estimate.high && *estimate.high > 0) turned.low = 1 / *estimate.high;
  return turned;
}

}  // namespace forebay
