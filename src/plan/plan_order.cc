#include "plan/plan_order.h"

#include <algorithm>
#include <array>
#include <utility>

namespace forebay {

namespace {

constexpr int64_t kDrawsAtOnce = 1024;

}  // namespace

PlanOrder::PlanOrder(std::shared_ptr<const PlanNode> plan) : plan_(std::move(plan)) {
  for (size_t leaf = 0; leaf < plan_->leaves(); ++leaf) begins_.push_back(begins_.back() + plan_->order(leaf).ids());
  if (ids() > kMostRemembered || size() > kMostRemembered) return;
  std::vector<uint32_t> first(static_cast<size_t>(ids()), static_cast<uint32_t>(size()));
  std::vector<int64_t> drawn(static_cast<size_t>(size()));
  ids_at(0, 0, drawn);
  for (size_t i = drawn.size(); i-- > 0;) first[static_cast<size_t>(drawn[i])] = static_cast<uint32_t>(i);
  first_positions_ = std::move(first);
}

int64_t PlanOrder::id_at(int64_t epoch, int64_t position) const {
  Draw draw;
  plan_->draws(epoch, position, {&draw, 1});
  return id_of(draw);
}

void PlanOrder::ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const {
  std::array<Draw, kDrawsAtOnce> draws;
  while (!ids.empty()) {
    const size_t count = std::min(ids.size(), draws.size());
    plan_->draws(epoch, begin, {draws.data(), count});
    for (size_t i = 0; i < count; ++i) ids[i] = id_of(draws[i]);
    ids = ids.subspan(count);
    begin += static_cast<int64_t>(count);
  }
}

size_t PlanOrder::leaf_of(int64_t id) const {
  // Empty leaves have the id of the next one as their begin.
  return static_cast<size_t>(std::ranges::upper_bound(begins_, id) - begins_.begin()) - 1;
}

int64_t PlanOrder::position_of(int64_t epoch, int64_t id) const {
  if (epoch == 0 && !first_positions_.empty()) return first_positions_[static_cast<size_t>(id)];
  const size_t leaf = leaf_of(id);
  const Use use = plan_->next_use(leaf, id - begins_[leaf], {epoch, 0});
  return use.epoch == epoch ? use.position : size();
}

}  // namespace forebay
