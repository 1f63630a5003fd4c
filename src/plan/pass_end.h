#pragma once

#include <cstdint>
#include <memory>

#include "plan/order.h"

namespace forebay {

// Orders one pass of which ends as another order. Such a pass has the positions of that order last:
// its position p is position p + now->size() - before->size() of the pass. Later passes are those of
// `now`. Earlier ones are those of `now`, too, and of no use.

/// The order of samples to which others were added behind the last one during a pass. That pass has
/// the new samples at its first positions, so that the samples of `before` keep their distance from
/// its end.
std::unique_ptr<Order> grown_order(std::shared_ptr<const Order> before, int64_t pass, std::shared_ptr<const Order> now);

/// Draws whose weights were changed during a pass: `rest` are the draws that were left in it, and
/// both have the same ids. What the first positions of the pass had is not known; they are those of
/// `now`, and of no use. A use at a position p of the rest has the number size() + p, which no earlier
/// use in the pass had, however often its weights were changed. size() is at most 2^30.
std::unique_ptr<Order> redrawn_order(std::shared_ptr<const Order> rest, int64_t pass, std::shared_ptr<const Order> now);

}  // namespace forebay
