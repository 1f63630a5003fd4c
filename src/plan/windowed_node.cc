#include "plan/windowed_node.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace forebay {

WindowedNode::WindowedNode(std::vector<std::unique_ptr<PlanNode>> children, std::unique_ptr<const WindowCounts> counts,
                           const PermutationKey& windows, int64_t size)
    : children_(std::move(children)), counts_(std::move(counts)), windows_(windows), numbering_(size) {
  child_numberings_.reserve(children_.size());
  for (size_t child = 0; child < children_.size(); ++child) child_numberings_.emplace_back(children_[child].size());
}

void WindowedNode::draws(int64_t epoch, int64_t begin, std::span<Draw> out, DrawPart part) const {
  assert(begin >= 0 && begin + static_cast<int64_t>(out.size()) <= size());
  int64_t position = numbering_.number_of({epoch, begin});
  while (!out.empty()) {
    const auto window = window_holding(position);
    position = std::max(position, window->begin());  // later only for a position before all windows
    const std::span<Draw> here = out.first(std::min(out.size(), static_cast<size_t>(window->end() - position)));
    window_draws(*window, position, here, part);
    position += static_cast<int64_t>(here.size());
    out = out.subspan(here.size());
  }
}

void WindowedNode::window_draws(const MixedWindow& window, int64_t begin, std::span<Draw> out, DrawPart part) const {
  std::array<Draw, 64> some;
  const auto from = static_cast<size_t>(begin - window.begin());
  const auto take = [&](size_t child, int64_t first, std::span<const uint16_t> places) {
    const int32_t first_leaf = children_.first_leaf(child);
    while (!places.empty()) {
      const size_t count = std::min(places.size(), some.size());
      numbered_draws(children_[child], child_numberings_[child], first, {some.data(), count}, part);
      for (size_t i = 0; i < count; ++i) {
        some[i].leaf += first_leaf;
        out[places[i] - from] = some[i];
      }
      first += static_cast<int64_t>(count);
      places = places.subspan(count);
    }
  };
  window.for_each_child(begin, begin + static_cast<int64_t>(out.size()), take);
}

Order::Use WindowedNode::next_draw(size_t leaf, const Order::Use& at) const {
  const auto [child, number] = children_.leaf(leaf);
  const Numbering& numbering = child_numberings_[child];
  if (numbering.size() == 0) return kNever;
  return children_[child].next_draw(number, numbering.use_of(draws_before(child, numbering_.number_of(at))));
}

Order::Use WindowedNode::position_of(size_t leaf, const Order::Use& draw) const {
  const auto [child, number] = children_.leaf(leaf);
  const Numbering& numbering = child_numberings_[child];
  if (numbering.size() == 0) return kNever;
  const int64_t draw_of_child = numbering.number_of(children_[child].position_of(number, draw));
  const int64_t near =
      draw_of_child == Numbering::kNever ? draw_of_child : counts_->position_near(child, draw_of_child);
  if (near >= Numbering::kNever) return kNever;
  if (near == WindowCounts::kBefore) return {0, 0};
  return numbering_.use_of(window_holding(near)->position_of(child, draw_of_child));
}

int64_t WindowedNode::draws_before(size_t child, int64_t position) const {
  const WindowCounts::Window window = counts_->window_holding(position);
  const int64_t before = counts_->draws_before(child, window);
  // Arranging a window takes far longer than counting its draws.
  if (position == window.begin || before == counts_->draws_before(child, counts_->window_holding(window.end)))
    return before;
  return window_holding(position)->draws_before(child, position);
}

// A window is a function of its beginning, so the node stays a pure function. The lock is held to
// copy a pointer, not to arrange.
std::shared_ptr<const MixedWindow> WindowedNode::window_holding(int64_t position) const {
  {
    const Lock lock(mutex_);
    for (const auto& window : recent_windows_) {
      if (window && window->begin() <= position && position < window->end()) return window;
    }
  }
  const WindowCounts::Window window = counts_->window_holding(position);
  auto mixed = std::make_shared<const MixedWindow>(window, counts_->parts(window), windows_.child(window.begin));
  const Lock lock(mutex_);
  std::rotate(recent_windows_.begin(), recent_windows_.end() - 1, recent_windows_.end());
  recent_windows_.front() = mixed;
  return mixed;
}

}  // namespace forebay
