#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "plan/mixed_window.h"
#include "plan/node.h"
#include "plan/node_children.h"
#include "plan/numbering.h"
#include "plan/permutation.h"
#include "plan/window_counts.h"

namespace forebay {

/// A node that mixes its children: WindowCounts says how many draws each child has in a window, and
/// MixedWindow arranges them. A child goes on with its next epoch whenever one is over.
class WindowedNode final : public PlanNode {
 public:
  /// `size` is the number of draws of an epoch. Every window is arranged by a child of `windows`.
  WindowedNode(std::vector<std::unique_ptr<PlanNode>> children, std::unique_ptr<const WindowCounts> counts,
               const PermutationKey& windows, int64_t size);

  int64_t size() const override { return numbering_.size(); }
  size_t leaves() const override { return children_.leaves(); }
  const Order& order(size_t leaf) const override { return children_.order(leaf); }
  void draws(int64_t epoch, int64_t begin, std::span<Draw> out, DrawPart part) const override;
  Order::Use next_draw(size_t leaf, const Order::Use& at) const override;
  Order::Use position_of(size_t leaf, const Order::Use& draw) const override;

 private:
  void window_draws(const MixedWindow& window, int64_t begin, std::span<Draw> out, DrawPart part) const;
  int64_t draws_before(size_t child, int64_t position) const;
  std::shared_ptr<const MixedWindow> window_holding(int64_t position) const;

  const NodeChildren children_;
  const std::unique_ptr<const WindowCounts> counts_;
  const PermutationKey windows_;
  const Numbering numbering_;
  std::vector<Numbering> child_numberings_;
  mutable Mutex mutex_;
  // The windows that were asked for last, the newest first.
  mutable std::array<std::shared_ptr<const MixedWindow>, 4> recent_windows_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
