#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "forebay/result.h"
#include "plan/order.h"

namespace forebay {

/// One draw of a leaf: a sample, and which use of it this is.
struct Draw {
  int32_t leaf = 0;        ///< number of the leaf in the tree, depth first
  int32_t occurrence = 0;  ///< number of this use among those of the sample in the pass
  int64_t pass = 0;        ///< pass over the samples of the leaf: the epoch of its order
  int64_t place = 0;       ///< position in the order of that pass
  int64_t index = 0;       ///< the sample: order.id_at(pass, place)
  friend bool operator==(const Draw&, const Draw&) = default;
};

/// The members of draws that are computed.
enum class DrawPart : uint8_t {
  kWhole,
  kPlace,  ///< leaf, pass and place; not the sample and the number of its use, which take longest
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
  static constexpr Order::Use kNever = Order::kNoUse;

  virtual ~PlanNode();
  virtual int64_t size() const = 0;  ///< draws of an epoch
  virtual size_t leaves() const = 0;
  /// The draws at positions begin, begin + 1, … of an epoch (all below size()).
  void draws(int64_t epoch, int64_t begin, std::span<Draw> out) const { draws(epoch, begin, out, DrawPart::kWhole); }
  /// The same as far as `part` says. Other members are undefined.
  virtual void draws(int64_t epoch, int64_t begin, std::span<Draw> out, DrawPart part) const = 0;
  /// The leaf's first draw at this position or later, as pass and place. at.position may be size().
  /// If the leaf has no draw left there (the weight of its part is 0 from there on), the draw that
  /// would be its next.
  virtual Order::Use next_draw(size_t leaf, const Order::Use& at) const = 0;
  /// The inverse: the position at which the leaf makes this draw.
  virtual Order::Use position_of(size_t leaf, const Order::Use& draw) const = 0;
  /// Position of the first use of a sample (an id of the leaf's order) at this position or later.
  Order::Use next_use(size_t leaf, int64_t index, const Order::Use& at) const;
  virtual const Order& order(size_t leaf) const = 0;
  /// The order of a node that is a leaf: its positions are those of the node. Null for all others.
  virtual const Order* as_leaf() const { return nullptr; }
};

/// The samples of an order: epoch e is pass e. The only leaf.
std::unique_ptr<PlanNode> leaf_node(std::shared_ptr<const Order> order);

/// The draws of an epoch of each child, one child after the other. Children may be empty.
std::unique_ptr<PlanNode> concat_node(std::vector<std::unique_ptr<PlanNode>> children);

/// The same draws in epochs of another size: `times` × the child's, rounded half up, and at least 1
/// if the child is not empty. So an epoch of repeat(2.5) ends in the middle of the child's third
/// epoch, and the next one goes on there. `times` is positive, and the product below 2^53.
std::unique_ptr<PlanNode> repeat_node(std::unique_ptr<PlanNode> child, double times);

/// The draws of an epoch of each child, each once, mixed. Windows of 1,024 positions (an epoch's
/// last one may be shorter) are arranged at random, each window of each epoch anew. At the end of
/// every window the draws of a child are within log2(children) + 1 of its share, and at the end of
/// the epoch all have been made. Children may be empty.
///
/// Give each node of a tree that has a seed another one: two of the same seed arrange windows
/// alike.
std::unique_ptr<PlanNode> shuffled_union_node(std::vector<std::unique_ptr<PlanNode>> children, uint64_t seed);

/// The end of an epoch of a mix.
enum class MixEnd : uint8_t {
  /// Before the first position, counted from the beginning of epoch 0 through its stages, at which
  /// a child would begin its second epoch.
  kFirst,
  /// Behind the first position at which every child whose weight is not always 0 has made the draws
  /// of an epoch, counted in the same way.
  kAll,
};

struct MixOptions {
  /// The weights from a position on. Positions count over all epochs of the mix.
  struct Stage {
    int64_t from = 0;
    std::vector<double> weights;  ///< one for each child
  };
  uint64_t seed = 0;          ///< another one for each node of a tree
  std::vector<Stage> stages;  ///< ascending, the first from 0
  /// The shares go linearly from each stage to the next one, in steps of equal length (the last may
  /// be shorter), at most 100. A step is a multiple of 1,024 positions, and of 2^16 if the ramp has
  /// 100 times as many. It has the mean share of its positions.
  bool ramp_linear = false;
  int64_t samples = 0;  ///< draws of an epoch; 0: until `end`
  MixEnd end = MixEnd::kFirst;
};

/// Draws of all children in shares given by weights. A child whose epoch is over goes on with its
/// next one, and in the next epoch of the mix all go on where they are.
///
/// Weights become whole numbers that add up to 2^16, by the largest remainder; one above 0 is at
/// least 1. If this raises m weights to 1, the error of a share is below (1 + m × share) × 2^-16.
///
/// Each stage is cut into windows of 1,024 positions from its beginning on. At the end of every
/// window, the draws that a child has made in the stage are within one of its share (Tijdeman's
/// rule). Errors of several stages add up; those of the steps of a ramp are evened out. The
/// arrangement inside a window is random. A stage that begins inside a window cuts it and keeps
/// what was arranged before, so no stage changes a position before its own beginning, unless
/// ramp_linear is set. At such a cut the draws are those of a random arrangement, and may be
/// further from the share.
///
/// Memory: 144 bytes a child for each stage or step of a ramp.
///
/// InvalidArgument for no children, stages that are not as described, weights that are negative,
/// not finite, or all 0 in a stage, more than 2^16 weights above 0 in a stage or a ramp, a weight
/// above 0 of an empty child, and an epoch that never ends or has 2^62 positions or more.
Result<std::unique_ptr<PlanNode>> mix_node(std::vector<std::unique_ptr<PlanNode>> children, const MixOptions& options);

}  // namespace forebay
