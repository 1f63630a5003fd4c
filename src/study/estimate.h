#pragma once

#include <span>
#include <vector>

#include "forebay/profile.h"

namespace forebay {

/// What was seen of a part of the samples, group by group: `of` is what the figure is wanted for each of, `sum` what came together.
struct Group {
  double of = 0, sum = 0;
};

/// sum ÷ of, over all groups; its 95 % interval is that of a ratio of two sums, from how the groups differ (W. G. Cochran, Sampling
/// Techniques, 3rd ed., 6.3), with Student's t for so few. `share`: of everything that was seen; what is not left out cannot err. No
/// bounds for less than two groups.
Estimate ratio_of(std::span<const Group> groups, double share = 0);
/// The mean of values seen one after the other, and its 95 % interval by Student's t.
Estimate mean_of(std::span<const double> values);
Estimate times(const Estimate& estimate, double factor);
/// Bounds change places.
Estimate inverse(const Estimate& estimate);

}  // namespace forebay
