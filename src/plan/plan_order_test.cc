#include "plan/plan_order.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plan/placement.h"

namespace forebay {
namespace {

std::vector<std::unique_ptr<PlanNode>> leaves(std::vector<int64_t> sizes) {
  std::vector<std::unique_ptr<PlanNode>> nodes;
  for (size_t i = 0; i < sizes.size(); ++i) nodes.push_back(leaf_node(shuffled_order(sizes[i], i + 1)));
  return nodes;
}

void expect_conforms(const PlanOrder& order) {
  std::vector<int64_t> ids(static_cast<size_t>(order.size()));
  for (const int64_t epoch : {int64_t{0}, int64_t{3}}) {
    order.ids_at(epoch, 0, ids);
    for (int64_t position = 0; position < order.size(); ++position) {
      const int64_t id = ids[static_cast<size_t>(position)];
      ASSERT_EQ(order.id_at(epoch, position), id);
      const auto first = std::ranges::find(ids, id) - ids.begin();
      ASSERT_EQ(order.position_of(epoch, id), first) << "epoch " << epoch;
    }
    for (int64_t id = 0; id < order.ids(); ++id) {
      if (std::ranges::find(ids, id) != ids.end()) continue;
      ASSERT_EQ(order.position_of(epoch, id), order.size());
    }
  }
}

TEST(PlanOrder, NumbersTheSamplesOfAllLeaves) {
  const PlanOrder order(shuffled_union_node(leaves({300, 0, 40, 7}), 5));
  EXPECT_EQ(order.ids(), 347);
  EXPECT_EQ(order.leaf_of(299), 0u);
  EXPECT_EQ(order.leaf_of(300), 2u) << "the leaf between has no samples";
  EXPECT_EQ(order.leaf_of(346), 3u);
  expect_conforms(order);
}

TEST(PlanOrder, OfAMixThatRepeatsAndLeavesOut) {
  auto mix = mix_node(leaves({500, 20}), {.seed = 3, .stages = {{0, {1, 3}}}, .samples = 400});
  ASSERT_TRUE(mix.ok());
  expect_conforms(PlanOrder(std::move(*mix)));
}

TEST(PlanOrder, SamplesThatDoNotComeInTheFirstEpochHaveNoOwner) {
  auto mix = mix_node(leaves({500, 20}), {.seed = 3, .stages = {{0, {1, 1}}}, .samples = 64});
  ASSERT_TRUE(mix.ok());
  const auto order = std::make_shared<const PlanOrder>(std::move(*mix));
  const Placement placement(order, {.hosts = {4, 2}, .batch_size = 8});
  int64_t owned = 0;
  std::vector<int64_t> ids(static_cast<size_t>(order->ids()));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  std::vector<int32_t> owners(ids.size());
  placement.owners(ids, owners);
  for (const int64_t id : ids) {
    const int32_t owner = placement.owner(id);
    EXPECT_EQ(owner, owners[static_cast<size_t>(id)]);
    EXPECT_EQ(owner == Placement::kNoOwner, order->position_of(0, id) == order->size());
    owned += owner != Placement::kNoOwner;
  }
  std::vector<int64_t> epoch(static_cast<size_t>(order->size()));
  order->ids_at(0, 0, epoch);
  EXPECT_EQ(owned, std::ssize(std::set<int64_t>(epoch.begin(), epoch.end())));
  EXPECT_LT(owned, order->size()) << "the small leaf's samples come several times";
}

}  // namespace
}  // namespace forebay
