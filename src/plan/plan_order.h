#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plan/node.h"
#include "plan/order.h"

namespace forebay {

/// A plan over several data sets, or with repeats, as one order. Ids number the samples of all
/// leaves, leaf by leaf. Draws of leaves that come several times in an epoch have one id.
///
/// For code that computes with positions and ids of whole epochs, such as Placement, outside of a
/// run. Up to kMostRemembered ids it remembers where each comes first in epoch 0, 4 bytes each;
/// beyond, and for other epochs, position_of() arranges a window, which takes microseconds.
class PlanOrder final : public Order {
 public:
  static constexpr int64_t kMostRemembered = int64_t{1} << 24;
  explicit PlanOrder(std::shared_ptr<const PlanNode> plan);

  int64_t size() const override { return plan_->size(); }
  int64_t ids() const override { return begins_.back(); }
  bool permutes() const override { return false; }  // unknown
  int64_t id_at(int64_t epoch, int64_t position) const override;
  int64_t position_of(int64_t epoch, int64_t id) const override;
  void ids_at(int64_t epoch, int64_t begin, std::span<int64_t> ids) const override;

  /// The leaf of an id.
  size_t leaf_of(int64_t id) const;
  /// The id of a leaf's first sample, and the number of all ids.
  std::span<const int64_t> begins() const { return begins_; }

 private:
  int64_t id_of(const Draw& draw) const { return begins_[static_cast<size_t>(draw.leaf)] + draw.index; }

  std::shared_ptr<const PlanNode> plan_;
  std::vector<int64_t> begins_{0};
  std::vector<uint32_t> first_positions_;  ///< of each id in epoch 0, or the epoch's size
};

}  // namespace forebay
