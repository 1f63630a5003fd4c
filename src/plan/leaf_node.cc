#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "plan/node.h"

namespace forebay {
namespace {

class LeafNode final : public PlanNode {
 public:
  explicit LeafNode(std::shared_ptr<const Order> order) : order_(std::move(order)), size_(order_->size()) {}

  int64_t size() const override { return size_; }
  size_t leaves() const override { return 1; }
  const Order& order(size_t) const override { return *order_; }
  const Order* as_leaf() const override { return order_.get(); }

  void draws(int64_t epoch, int64_t begin, std::span<Draw> out, DrawPart part) const override {
    assert(begin >= 0 && begin + static_cast<int64_t>(out.size()) <= size_);
    if (part == DrawPart::kPlace) {
      for (Draw& draw : out) draw = {0, 0, epoch, begin++, 0};
      return;
    }
    std::array<int64_t, 256> ids;
    std::array<int32_t, 256> occurrences;
    while (!out.empty()) {
      const size_t count = std::min(out.size(), ids.size());
      order_->uses_at(epoch, begin, {ids.data(), count}, {occurrences.data(), count});
      for (size_t i = 0; i < count; ++i) out[i] = {0, occurrences[i], epoch, begin + static_cast<int64_t>(i), ids[i]};
      begin += static_cast<int64_t>(count);
      out = out.subspan(count);
    }
  }

  Order::Use next_draw(size_t, const Order::Use& at) const override {
    if (size_ == 0) return kNever;
    return at.position < size_ ? at : Order::Use{at.epoch + 1, 0};
  }
  Order::Use position_of(size_t, const Order::Use& draw) const override { return size_ == 0 ? kNever : draw; }

 private:
  const std::shared_ptr<const Order> order_;
  const int64_t size_;
};

}  // namespace

std::unique_ptr<PlanNode> leaf_node(std::shared_ptr<const Order> order) {
  return std::make_unique<LeafNode>(std::move(order));
}

}  // namespace forebay
