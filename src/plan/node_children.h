#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "plan/node.h"

namespace forebay {

/// The children of a node, and which of them has a leaf. Leaves are numbered child by child.
class NodeChildren {
 public:
  /// A leaf of the node: the child that has it, and its number there.
  struct Leaf {
    size_t child = 0, number = 0;
  };

  explicit NodeChildren(std::vector<std::unique_ptr<PlanNode>> children) : children_(std::move(children)) {
    for (const auto& child : children_) {
      // A child without leaves, such as a concat of nothing, has no draw and is never looked up.
      for (size_t number = 0; number < child->leaves(); ++number) leaves_.push_back({first_leaf_.size(), number});
      first_leaf_.push_back(static_cast<int32_t>(leaves_.size() - child->leaves()));
    }
  }

  size_t size() const { return children_.size(); }
  const PlanNode& operator[](size_t child) const { return *children_[child]; }
  size_t leaves() const { return leaves_.size(); }
  Leaf leaf(size_t leaf) const { return leaves_[leaf]; }
  int32_t first_leaf(size_t child) const { return first_leaf_[child]; }
  const Order& order(size_t leaf) const { return (*this)[leaves_[leaf].child].order(leaves_[leaf].number); }

 private:
  std::vector<std::unique_ptr<PlanNode>> children_;
  std::vector<Leaf> leaves_;
  std::vector<int32_t> first_leaf_;  // of each child
};

}  // namespace forebay
