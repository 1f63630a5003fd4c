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

/// The leaf of each draw of an epoch.
inline std::vector<int32_t> leaves_of(const PlanNode& node, int64_t epoch) {
  std::vector<Draw> draws(static_cast<size_t>(node.size()));
  node.draws(epoch, 0, draws);
  std::vector<int32_t> leaves;
  for (const Draw& draw : draws) leaves.push_back(draw.leaf);
  return leaves;
}

/// The samples that one leaf draws in the first epochs, in order.
inline std::vector<int64_t> samples_of(const PlanNode& node, int32_t leaf, int64_t epochs) {
  std::vector<int64_t> samples;
  std::vector<Draw> draws(static_cast<size_t>(node.size()));
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    node.draws(epoch, 0, draws);
    for (const Draw& draw : draws) {
      if (draw.leaf == leaf) samples.push_back(draw.index);
    }
  }
  return samples;
}

/// Number of positions at which the two differ.
inline int64_t differences(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  int64_t different = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) different += a[i] != b[i] ? 1 : 0;
  return different;
}

}  // namespace forebay
