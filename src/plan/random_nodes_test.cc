#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "plan/node.h"
#include "plan/node_conformance.h"
#include "plan/test_drawn_orders.h"
#include "plan/test_nodes.h"

namespace forebay {
namespace {

// A tree that is still to be made.
struct Tree {
  enum class Kind { kLeaf, kConcat, kRepeat, kUnion, kMix } kind = Kind::kLeaf;
  enum class Draws { kOnce, kWeighted, kBalanced } draws = Draws::kOnce;  // of a leaf
  int64_t size = 0;                                                       // of a leaf
  double times = 1;                                                       // of a repeat
  uint64_t seed = 0;
  MixOptions options;
  std::vector<Tree> children;
};

using Nodes = std::vector<std::unique_ptr<PlanNode>>;

// The order of a leaf. One that draws has epochs of another length than it has samples.
std::unique_ptr<Order> order_of(const Tree& tree) {
  const int64_t draws = 1 + tree.size * 2 / 3;
  std::vector<double> weights;
  std::vector<int32_t> class_of;
  for (int64_t id = 0; id < tree.size; ++id) {
    weights.push_back(static_cast<double>(1 + id % 7));
    class_of.push_back(id < 3 ? static_cast<int32_t>(id) : static_cast<int32_t>(id % 2));
  }
  if (tree.size == 0 || tree.draws == Tree::Draws::kOnce) return shuffled_order(tree.size, tree.seed);
  if (tree.draws == Tree::Draws::kWeighted) return drawn_samples(tree.size, weights, draws, true, tree.seed);
  return balanced_samples(class_of, draws, true, tree.seed);
}

std::unique_ptr<PlanNode> over(const Tree& tree, Nodes children) {
  switch (tree.kind) {
    case Tree::Kind::kConcat: return concat_node(std::move(children));
    case Tree::Kind::kRepeat: return repeat_node(std::move(children[0]), tree.times);
    case Tree::Kind::kUnion: return shuffled_union_node(std::move(children), tree.seed);
    case Tree::Kind::kMix: return mix_node(std::move(children), tree.options).value();
    case Tree::Kind::kLeaf: break;
  }
  return leaf_node(order_of(tree));
}

std::unique_ptr<PlanNode> built(const Tree& tree) {
  Nodes children;
  for (const Tree& child : tree.children) children.push_back(built(child));
  return over(tree, std::move(children));
}

std::string described(const Tree& tree) {
  std::string text = std::string(1, "lcrum"[static_cast<int>(tree.kind)]) + "(";
  if (tree.kind == Tree::Kind::kLeaf) text += std::to_string(tree.size);
  for (const Tree& child : tree.children) text += described(child);
  return text + ")";
}

// The first draws of a tree, made by going through the draws of each child one by one. Which child
// has a position is what the node says over leaves of the same sizes; tests of the single nodes
// compare that with models.
class SlowTree {
 public:
  static std::vector<Draw> draws(const Tree& tree, int64_t count) {
    if (tree.kind == Tree::Kind::kLeaf) return leaf_draws(tree, count);
    const std::vector<int32_t> children = children_of(tree, count);
    std::vector<std::vector<Draw>> of_children;
    std::vector<int32_t> first_leaf;
    int32_t leaves = 0;
    for (size_t child = 0; child < tree.children.size(); ++child) {
      of_children.push_back(draws(tree.children[child], std::count(children.begin(), children.end(), child)));
      first_leaf.push_back(leaves);
      leaves += static_cast<int32_t>(built(tree.children[child])->leaves());
    }
    std::vector<size_t> next(tree.children.size());
    std::vector<Draw> draws;
    for (const int32_t child : children) {
      const auto c = static_cast<size_t>(child);
      draws.push_back(of_children[c][next[c]++]);
      draws.back().leaf += first_leaf[c];
    }
    return draws;
  }

 private:
  static std::vector<Draw> leaf_draws(const Tree& tree, int64_t count) {
    const auto order = order_of(tree);
    std::vector<Draw> draws;
    for (int64_t i = 0; i < count; ++i) {
      Draw draw{0, 0, i / order->size(), i % order->size()};
      order->uses_at(draw.pass, draw.place, {&draw.index, 1}, {&draw.occurrence, 1});
      draws.push_back(draw);
    }
    return draws;
  }

  static std::vector<int32_t> children_of(const Tree& tree, int64_t count) {
    if (tree.kind == Tree::Kind::kRepeat) return std::vector<int32_t>(static_cast<size_t>(count), 0);
    Nodes leaves;
    for (const Tree& child : tree.children) leaves.push_back(leaf_node(sequential_order(built(child)->size())));
    const auto flat = over(tree, std::move(leaves));
    std::vector<int32_t> children;
    for (int64_t i = 0; i < count; ++i) {
      Draw draw;
      flat->draws(i / flat->size(), i % flat->size(), {&draw, 1});
      children.push_back(draw.leaf);
    }
    return children;
  }
};

class RandomTrees {
 public:
  explicit RandomTrees(uint64_t seed) : random_(seed) {}

  Tree next(int depth) {
    Tree tree;
    tree.seed = random_();
    tree.kind = depth == 0 ? Tree::Kind::kLeaf : static_cast<Tree::Kind>(1 + below(4));
    if (tree.kind == Tree::Kind::kLeaf) {
      tree.size = below(8) == 0 ? 0 : 1 + below(below(3) == 0 ? 300 : 20);
      tree.draws = static_cast<Tree::Draws>(below(3));
      return tree;
    }
    const int64_t children = tree.kind == Tree::Kind::kRepeat ? 1 : 1 + below(4);
    for (int64_t i = 0; i < children; ++i) tree.children.push_back(next(below(3) == 0 ? 0 : depth - 1));
    if (tree.kind == Tree::Kind::kRepeat) tree.times = static_cast<double>(1 + below(12)) / 4;
    if (tree.kind == Tree::Kind::kMix) choose_options(&tree);
    return tree;
  }

 private:
  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  void choose_options(Tree* tree) {
    std::vector<int64_t> sizes;
    for (const Tree& child : tree->children) sizes.push_back(built(child)->size());
    // A mix needs a child that is not empty.
    if (std::count(sizes.begin(), sizes.end(), 0) == static_cast<int64_t>(sizes.size())) {
      tree->children[0] = Tree{};
      tree->children[0].size = sizes[0] = 1 + below(20);
    }
    tree->options.seed = tree->seed;
    tree->options.ramp_linear = below(2) == 0;
    tree->options.samples = below(2) == 0 ? 0 : 1 + below(1500);
    for (int64_t from = 0, stage = 1 + below(3); stage > 0; --stage, from += 1 + below(1500)) {
      std::vector<double> weights;
      for (const int64_t size : sizes)
        weights.push_back(size == 0 || below(4) == 0 ? 0 : static_cast<double>(1 + below(9)));
      const size_t full = static_cast<size_t>(
          std::find_if(sizes.begin(), sizes.end(), [](int64_t s) { return s > 0; }) - sizes.begin());
      weights[full] = 1;
      tree->options.stages.push_back({from, weights});
    }
  }

  std::mt19937_64 random_;
};

TEST(RandomNodesTest, conform_and_draw_as_the_slow_model) {
  RandomTrees trees(7);
  int tested = 0;
  for (int round = 0; round < 150; ++round) {
    const Tree tree = trees.next(1 + round % 3);
    SCOPED_TRACE("round " + std::to_string(round) + ": " + described(tree));
    const auto node = built(tree);
    // A mix of nodes within one another may be long; the others are enough.
    if (node->size() > 4000) continue;
    ++tested;
    ASSERT_NO_FATAL_FAILURE(expect_conforms(*node, 3));
    ASSERT_TRUE(walk(*node, 3) == SlowTree::draws(tree, 3 * node->size()));
  }
  EXPECT_GT(tested, 120);
}

}  // namespace
}  // namespace forebay
