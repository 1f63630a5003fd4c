#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "forebay/result.h"
#include "plan/order.h"

namespace forebay {

/// Makes an order of items that are stored in chunks of these sizes, or one by one.
using MakeOrder =
    std::function<Result<std::unique_ptr<Order>>(const std::optional<std::vector<int64_t>>& chunk_rows, int64_t size)>;

struct DrawnOptions {
  /// The samples, in any order. Its epoch 0 is the line along which draws are spread. What is read
  /// together is contiguous and lies in one chunk, as with one lane and blocks of one chunk.
  std::shared_ptr<const Order> line;
  std::vector<double> weights;  ///< one for each id of the line; empty: all alike
  int64_t draws = 1;            ///< of an epoch
  bool once = false;            ///< no sample may come twice in an epoch
  uint64_t seed = 0;
  /// Makes the order of an epoch's draws. Those of one chunk are its rows.
  MakeOrder order;
};

/// Samples drawn by weight: with m = draws × weight / sum of weights, each sample comes ⌊m⌋ or ⌈m⌉
/// times an epoch, and m times on average over epochs (see SystematicDraws). Chunks stay together:
/// the draws of an epoch are ordered as the rows of chunks, with as many rows as the epoch draws
/// from each. A chunk without draws is not read.
///
/// Memory: 8 bytes a sample if there are weights; for each stretch of the line in a chunk six
/// words, and two for each of the last four epochs asked for. InvalidArgument for draws below 1 or from 2^62 on, weights that
/// are negative, not finite, all 0, or not one for each id, with `once` more than one draw for a
/// sample, and the errors of DrawnOptions::order.
Result<std::unique_ptr<Order>> drawn_order(const DrawnOptions& options);

}  // namespace forebay
