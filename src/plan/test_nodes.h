#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/node.h"

namespace forebay {

inline std::unique_ptr<PlanNode> shuffled_leaf(int64_t size, uint64_t seed) {
  return leaf_node(shuffled_order(size, seed));
}

/// A leaf of each size. Their seeds differ.
inline std::vector<std::unique_ptr<PlanNode>> shuffled_leaves(const std::vector<int64_t>& sizes) {
  std::vector<std::unique_ptr<PlanNode>> leaves;
  for (const int64_t size : sizes) leaves.push_back(shuffled_leaf(size, 100 + leaves.size()));
  return leaves;
}

}  // namespace forebay
