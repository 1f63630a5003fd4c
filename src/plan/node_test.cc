#include "plan/node.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "plan/node_conformance.h"
#include "plan/test_nodes.h"

namespace forebay {
namespace {

TEST(NodeTest, leaf) {
  for (const int64_t size : {0, 1, 2, 5, 300}) expect_conforms(*shuffled_leaf(size, 7), 3);
  expect_conforms(*leaf_node(sequential_order(700)), 2);
  expect_conforms(*leaf_node(blockwise_order({{3, 0, 5, 1, 8, 4}, 2, 3, 7}).value()), 4);
}

TEST(NodeTest, epoch_of_a_leaf_is_a_pass) {
  const auto node = shuffled_leaf(50, 7);
  const std::vector<Draw> draws = walk(*node, 2);
  for (int64_t i = 0; i < 100; ++i) {
    const Draw& draw = draws[static_cast<size_t>(i)];
    EXPECT_EQ(draw, (Draw{0, 0, i / 50, i % 50, node->order(0).id_at(i / 50, i % 50)}));
  }
}

TEST(NodeTest, concat) {
  expect_conforms(*concat_node({}), 1);
  expect_conforms(*concat_node(shuffled_leaves({5})), 3);
  expect_conforms(*concat_node(shuffled_leaves({5, 0, 300, 1})), 3);
  expect_conforms(*concat_node(shuffled_leaves({0, 0, 3, 0})), 3);
  expect_conforms(*concat_node(shuffled_leaves({0, 0})), 3);
}

TEST(NodeTest, concat_is_one_child_after_the_other) {
  const std::vector<Draw> draws = walk(*concat_node(shuffled_leaves({3, 0, 2})), 2);
  std::vector<std::pair<int32_t, int64_t>> leaf_and_pass;
  for (const Draw& draw : draws) leaf_and_pass.emplace_back(draw.leaf, draw.pass);
  EXPECT_EQ(leaf_and_pass, (std::vector<std::pair<int32_t, int64_t>>{
                               {0, 0}, {0, 0}, {0, 0}, {2, 0}, {2, 0}, {0, 1}, {0, 1}, {0, 1}, {2, 1}, {2, 1}}));
}

TEST(NodeTest, repeat) {
  for (const double times : {0.001, 0.3, 0.5, 1.0, 1.5, 2.0, 3.7}) {
    for (const int64_t size : {0, 1, 2, 30}) expect_conforms(*repeat_node(shuffled_leaf(size, 7), times), 4);
  }
  expect_conforms(*repeat_node(concat_node(shuffled_leaves({3, 0, 2})), 2.5), 5);
}

TEST(NodeTest, size_of_repeat_is_rounded_half_up) {
  const auto size = [](int64_t child, double times) { return repeat_node(shuffled_leaf(child, 7), times)->size(); };
  EXPECT_EQ(size(10, 2), 20);
  EXPECT_EQ(size(10, 0.25), 3);
  EXPECT_EQ(size(10, 0.15), 2);
  EXPECT_EQ(size(10, 0.14), 1);
  EXPECT_EQ(size(10, 0.01), 1);
  EXPECT_EQ(size(0, 3), 0);
  EXPECT_EQ(size(int64_t{1} << 40, 3), int64_t{3} << 40);
}

TEST(NodeTest, repeat_has_the_draws_of_its_child) {
  const auto child = [] { return concat_node(shuffled_leaves({3, 4})); };
  const std::vector<Draw> repeated = walk(*repeat_node(child(), 2.5), 4);  // epochs of 18
  std::vector<Draw> draws = walk(*child(), 11);
  draws.resize(repeated.size());
  EXPECT_EQ(repeated, draws);
}

// 2^20 epochs of 2^40 draws, at their end.
TEST(NodeTest, large_numbers) {
  const int64_t size = int64_t{1} << 40, epoch = (int64_t{1} << 20) - 1;
  std::vector<std::unique_ptr<PlanNode>> halves;
  halves.push_back(shuffled_leaf(size / 2, 1));
  halves.push_back(repeat_node(shuffled_leaf(size / 4, 2), 2));
  const auto node = concat_node(std::move(halves));
  ASSERT_EQ(node->size(), size);
  for (const int64_t position : {int64_t{0}, size / 2 - 1, size / 2, size - 1}) {
    Draw draw;
    node->draws(epoch, position, {&draw, 1});
    const auto leaf = static_cast<size_t>(draw.leaf);
    EXPECT_EQ(node->next_draw(leaf, {epoch, position}), (Order::Use{draw.pass, draw.place}));
    EXPECT_EQ(node->position_of(leaf, {draw.pass, draw.place}), (Order::Use{epoch, position}));
    EXPECT_EQ(node->next_use(leaf, draw.index, {epoch, position}), (Order::Use{epoch, position}));
  }
  EXPECT_EQ(node->position_of(1, {int64_t{1} << 40, 0}), PlanNode::kNever);
}

}  // namespace
}  // namespace forebay
