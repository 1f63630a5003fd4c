#include "plan/node.h"

#include <algorithm>

#include "plan/numbering.h"

namespace forebay {

PlanNode::~PlanNode() = default;

Order::Use PlanNode::next_use(size_t leaf, int64_t index, const Order::Use& at) const {
  const Order::Use draw = next_draw(leaf, at);
  if (draw == kNever) return kNever;
  // A leaf makes its draws in order, so the first use among its draws is the first among positions.
  const Order::Use use = order(leaf).next_use(index, draw.epoch, draw.position);
  return use == Order::kNoUse ? kNever : position_of(leaf, use);
}

void numbered_draws(const PlanNode& node, const Numbering& numbering, int64_t first, std::span<Draw> out,
                    DrawPart part) {
  for (Order::Use at = numbering.use_of(first); !out.empty(); at = {at.epoch + 1, 0}) {
    const auto left = static_cast<size_t>(numbering.size() - at.position);
    const std::span<Draw> here = out.first(std::min(out.size(), left));
    node.draws(at.epoch, at.position, here, part);
    out = out.subspan(here.size());
  }
}

}  // namespace forebay
