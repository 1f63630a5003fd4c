#pragma once

#include <cstdint>
#include <memory>

#include "plan/order.h"

namespace forebay {

/// The order of samples to which others were added behind the last one during a pass: that pass
/// ends as in the order `before`, and later ones are those of `now`. The pass has the new samples at
/// its first positions, so that the samples of `before` keep their distance from its end: the
/// position p of `before` is position p + now->size() - before->size(). Epochs before the pass are
/// those of `now`, too, and of no use.
std::unique_ptr<Order> grown_order(std::shared_ptr<const Order> before, int64_t pass, std::shared_ptr<const Order> now);

}  // namespace forebay
