#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "plan/order.h"

namespace forebay {

struct BalancedOptions {
  std::vector<int32_t> class_of;  ///< of each id, from 0 on; below 0: the sample is left out
  int64_t size = 0;               ///< positions of an epoch; 0 if there is no class
  /// Makes the order of the samples of a class, and that of the classes in a cycle. `number` is
  /// another one for each: make orders with other seeds.
  std::function<std::unique_ptr<Order>(int64_t size, int64_t number)> order;
};

/// Classes in equal shares. With k classes, positions are cut into cycles of k, counted over all
/// epochs, and each class comes once in each cycle, arranged anew. So after any number of positions
/// the draws of two classes differ by one at most. A class goes through its samples in passes, each
/// in an order of its own, and goes on in the next epoch where it stands: no sample comes again
/// before all others of its class have come.
///
/// Epochs × size must be below 2^62. A class has at least one sample. Memory: 12 bytes a sample,
/// and an order for each class.
std::unique_ptr<Order> balanced_order(BalancedOptions options);

}  // namespace forebay
