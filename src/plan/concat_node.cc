#include <algorithm>
#include <cassert>
#include <utility>

#include "base/part_search.h"
#include "plan/node_children.h"

namespace forebay {
namespace {

class ConcatNode final : public PlanNode {
 public:
  explicit ConcatNode(std::vector<std::unique_ptr<PlanNode>> children) : children_(std::move(children)) {
    begins_.reserve(children_.size());
    for (size_t child = 0; child < children_.size(); ++child) {
      begins_.push_back(size_);
      size_ += children_[child].size();
    }
  }

  int64_t size() const override { return size_; }
  size_t leaves() const override { return children_.leaves(); }
  const Order& order(size_t leaf) const override { return children_.order(leaf); }

  void draws(int64_t epoch, int64_t begin, std::span<Draw> out, DrawPart part) const override {
    assert(begin >= 0 && begin + static_cast<int64_t>(out.size()) <= size_);
    if (out.empty()) return;
    for (size_t child = child_holding(begin); !out.empty(); ++child) {
      const int64_t left = begins_[child] + children_[child].size() - begin;
      const std::span<Draw> here = out.first(std::min(out.size(), static_cast<size_t>(left)));
      children_[child].draws(epoch, begin - begins_[child], here, part);
      for (Draw& draw : here) draw.leaf += children_.first_leaf(child);
      begin += static_cast<int64_t>(here.size());
      out = out.subspan(here.size());
    }
  }

  Order::Use next_draw(size_t leaf, const Order::Use& at) const override {
    const auto [child, number] = children_.leaf(leaf);
    const int64_t within = at.position - begins_[child];
    return children_[child].next_draw(number, {at.epoch, std::clamp<int64_t>(within, 0, children_[child].size())});
  }

  Order::Use position_of(size_t leaf, const Order::Use& draw) const override {
    const auto [child, number] = children_.leaf(leaf);
    const Order::Use within = children_[child].position_of(number, draw);
    return within == kNever ? kNever : Order::Use{within.epoch, begins_[child] + within.position};
  }

 private:
  // An empty child begins where the next one does, and the last of them has the position.
  size_t child_holding(int64_t position) const {
    return part_holding(std::span<const int64_t>(begins_), position, [](int64_t begin) { return begin; });
  }

  const NodeChildren children_;
  std::vector<int64_t> begins_;  // of each child
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<PlanNode> concat_node(std::vector<std::unique_ptr<PlanNode>> children) {
  return std::make_unique<ConcatNode>(std::move(children));
}

}  // namespace forebay
