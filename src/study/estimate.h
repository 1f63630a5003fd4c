#pragma once

#include <span>
#include <vector>

#include "forebay/profile.h"

namespace forebay {

/// A group of observations: the number of units, and the total of the measured figure over them.
struct Group {
  double units = 0, sum = 0;
};

/// Returns sum ÷ units over all groups. The bounds are the 95 % confidence interval of a ratio of
/// two sums, from the differences between groups (W. G. Cochran, Sampling Techniques, 3rd ed.,
/// 6.3), with Student's t for small numbers of groups. `share` is the observed share of the whole;
/// only the rest adds to the error. There are no bounds for fewer than two groups.
Estimate ratio_of(std::span<const Group> groups, double share = 0);
/// Returns the mean of consecutive values, with its 95 % confidence interval by Student's t.
Estimate mean_of(std::span<const double> values);
Estimate times(const Estimate& estimate, double factor);
/// Returns the reciprocal; the bounds change places.
Estimate inverse(const Estimate& estimate);

}  // namespace forebay
