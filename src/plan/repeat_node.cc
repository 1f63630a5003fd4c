#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "plan/node.h"
#include "plan/numbering.h"

namespace forebay {
namespace {

int64_t repeated_size(int64_t size, double times) {
  assert(times > 0);
  if (size == 0) return 0;
  const double product = static_cast<double>(size) * times;
  assert(product < 0x1p53);
  return std::max<int64_t>(1, std::llround(product));
}

class RepeatNode final : public PlanNode {
 public:
  RepeatNode(std::unique_ptr<PlanNode> child, double times)
      : child_(std::move(child)), inner_(child_->size()), outer_(repeated_size(inner_.size(), times)) {}

  int64_t size() const override { return outer_.size(); }
  size_t leaves() const override { return child_->leaves(); }
  const Order& order(size_t leaf) const override { return child_->order(leaf); }

  void draws(int64_t epoch, int64_t begin, std::span<Draw> out, DrawPart part) const override {
    assert(begin >= 0 && begin + static_cast<int64_t>(out.size()) <= size());
    if (!out.empty()) numbered_draws(*child_, inner_, outer_.number_of({epoch, begin}), out, part);
  }
  Order::Use next_draw(size_t leaf, const Order::Use& at) const override {
    return size() == 0 ? kNever : child_->next_draw(leaf, inner_.use_of(outer_.number_of(at)));
  }
  Order::Use position_of(size_t leaf, const Order::Use& draw) const override {
    return size() == 0 ? kNever : outer_.use_of(inner_.number_of(child_->position_of(leaf, draw)));
  }

 private:
  const std::unique_ptr<PlanNode> child_;
  const Numbering inner_, outer_;  // of the child, and of this node
};

}  // namespace

std::unique_ptr<PlanNode> repeat_node(std::unique_ptr<PlanNode> child, double times) {
  return std::make_unique<RepeatNode>(std::move(child), times);
}

}  // namespace forebay
