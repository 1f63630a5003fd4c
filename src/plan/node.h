#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "plan/order.h"

namespace forebay {

/// One draw of a leaf: a sample, and which use of it this is.
struct Draw {
  int32_t leaf = 0;        ///< number of the leaf in the tree, depth first
  int32_t occurrence = 0;  ///< uses of this sample by the leaf in the same pass before this one
  int64_t pass = 0;        ///< pass over the samples of the leaf: the epoch of its order
  int64_t place = 0;       ///< position in the order of that pass
  int64_t index = 0;       ///< the sample: order.id_at(pass, place)
  friend bool operator==(const Draw&, const Draw&) = default;
};

/// A node of a plan: a pure function from positions to draws of leaves. It is an endless sequence
/// of draws, cut into epochs of size() draws. May be used by several threads at once.
///
/// Each leaf draws its samples in the order of its own passes, (pass, place) = (0, 0), (0, 1), …,
/// whichever nodes are above it. A node above it decides only at which positions the leaf draws. So
/// the draw at a position, the draws of a leaf before a position, and the position of a draw all
/// are functions of a position, and there is no state.
///
/// Bounds: epoch × size() + position must be below 2^62 for this node and every node below it, for
/// example 2^20 epochs of 2^40 draws. Epochs, positions and passes are 0 or larger.
class PlanNode {
 public:
  /// The position of a draw that the leaf never makes, or makes at 2^62 or later, counted over all
  /// epochs; and the draw of a leaf without samples. Compares as later than every other.
  static constexpr Order::Use kNever{std::numeric_limits<int64_t>::max(), 0};

  virtual ~PlanNode();
  virtual int64_t size() const = 0;  ///< draws of an epoch
  virtual size_t leaves() const = 0;
  /// The draws at positions begin, begin + 1, … of an epoch (all below size()).
  virtual void draws(int64_t epoch, int64_t begin, std::span<Draw> out) const = 0;
  /// The leaf's first draw at this position or later, as pass and place. at.position may be size().
  /// If the leaf has no draw left there (the weight of its part is 0 from there on), the draw that
  /// would be its next.
  virtual Order::Use next_draw(size_t leaf, const Order::Use& at) const = 0;
  /// The inverse: the position at which the leaf makes this draw.
  virtual Order::Use position_of(size_t leaf, const Order::Use& draw) const = 0;
  /// Position of the first use of a sample (an id of the leaf's order) at this position or later.
  Order::Use next_use(size_t leaf, int64_t index, const Order::Use& at) const;
  virtual const Order& order(size_t leaf) const = 0;
};

/// The samples of an order: epoch e is pass e. The only leaf.
std::unique_ptr<PlanNode> leaf_node(std::shared_ptr<const Order> order);

/// The draws of an epoch of each child, one child after the other. Children may be empty.
std::unique_ptr<PlanNode> concat_node(std::vector<std::unique_ptr<PlanNode>> children);

/// The same draws in epochs of another size: `times` × the child's, rounded half up, and at least 1
/// if the child is not empty. So an epoch of repeat(2.5) ends in the middle of the child's third
/// epoch, and the next one goes on there. `times` is positive, and the product below 2^53.
std::unique_ptr<PlanNode> repeat_node(std::unique_ptr<PlanNode> child, double times);

/// The draws of an epoch of each child, each once, mixed. Windows of 1,024 positions (an epoch's last
/// one may be shorter) are arranged at random, each window of each epoch anew. At the end of every
/// window the draws of a child are within log2(children) + 1 of its share, and at the end of the
/// epoch all have been made. Children may be empty.
///
/// Give each node of a tree that has a seed another one: two of the same seed arrange windows alike.
std::unique_ptr<PlanNode> shuffled_union_node(std::vector<std::unique_ptr<PlanNode>> children, uint64_t seed);

}  // namespace forebay
