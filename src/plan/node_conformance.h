#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <vector>

#include "plan/node.h"

namespace forebay {

inline void PrintTo(const Draw& draw, std::ostream* out) {
  *out << "leaf " << draw.leaf << " pass " << draw.pass << " place " << draw.place << " sample " << draw.index;
}
inline void PrintTo(const Order::Use& use, std::ostream* out) {
  if (use == PlanNode::kNever) {
    *out << "never";
  } else {
    *out << "epoch " << use.epoch << " position " << use.position;
  }
}

/// All draws of the first epochs, asked for one by one.
inline std::vector<Draw> walk(const PlanNode& node, int64_t epochs) {
  std::vector<Draw> draws(static_cast<size_t>(epochs * node.size()));
  for (int64_t i = 0; i < epochs * node.size(); ++i)
    node.draws(i / node.size(), i % node.size(), {&draws[static_cast<size_t>(i)], 1});
  return draws;
}

/// Tests every promise of PlanNode against a walk over all positions of the first epochs.
class NodeConformance {
 public:
  NodeConformance(const PlanNode& node, int64_t epochs)
      : node_(node), epochs_(node.size() == 0 ? 0 : epochs), walk_(walk(node, epochs_)) {}

  void check() const {
    ASSERT_NO_FATAL_FAILURE(runs_give_the_same_as_single_draws());
    ASSERT_NO_FATAL_FAILURE(leaves_draw_in_their_own_order());
    ASSERT_NO_FATAL_FAILURE(next_draw_is_the_first_one_from_there_on());
    ASSERT_NO_FATAL_FAILURE(position_of_is_the_inverse());
    ASSERT_NO_FATAL_FAILURE(next_use_is_the_first_one_from_there_on());
    ASSERT_NO_FATAL_FAILURE(leaves_without_samples_never_draw());
  }

 private:
  Order::Use use(int64_t number) const { return {number / node_.size(), number % node_.size()}; }
  int64_t leaf_size(size_t leaf) const { return node_.order(leaf).size(); }
  int64_t count() const { return static_cast<int64_t>(walk_.size()); }

  // The last epoch first, so that an answer that depended on earlier calls would differ.
  void runs_give_the_same_as_single_draws() const {
    for (const int64_t length : {int64_t{1}, int64_t{2}, int64_t{7}, int64_t{64}, int64_t{300}, int64_t{1500},
                                 std::max<int64_t>(1, node_.size())}) {
      for (int64_t epoch = epochs_ - 1; epoch >= 0; --epoch) {
        for (int64_t begin = length == 1 ? 0 : epoch % 3; begin < node_.size(); begin += length) {
          std::vector<Draw> run(static_cast<size_t>(std::min(length, node_.size() - begin)));
          node_.draws(epoch, begin, run);
          const auto expected = walk_.begin() + epoch * node_.size() + begin;
          const auto wrong = std::mismatch(run.begin(), run.end(), expected);
          ASSERT_TRUE(wrong.first == run.end())
              << "run of " << length << " from " << begin << " of epoch " << epoch << ": "
              << testing::PrintToString(*wrong.first) << " instead of " << testing::PrintToString(*wrong.second);
          std::vector<Draw> places(run.size());
          node_.draws(epoch, begin, places, DrawPart::kPlace);
          ASSERT_TRUE(std::ranges::equal(places, run,
                                         [](const Draw& place, const Draw& draw) {
                                           return place.leaf == draw.leaf && place.pass == draw.pass &&
                                                  place.place == draw.place;
                                         }))
              << "places of a run of " << length << " from " << begin << " of epoch " << epoch;
        }
      }
    }
    node_.draws(0, 0, {});
  }

  void leaves_draw_in_their_own_order() const {
    std::vector<int64_t> made(node_.leaves());
    for (size_t i = 0; i < walk_.size(); ++i) {
      const Draw& draw = walk_[i];
      ASSERT_TRUE(draw.leaf >= 0 && static_cast<size_t>(draw.leaf) < node_.leaves());
      const auto leaf = static_cast<size_t>(draw.leaf);
      const int64_t size = leaf_size(leaf), pass = made[leaf] / size, place = made[leaf] % size;
      int64_t index = 0;
      int32_t occurrence = 0;
      node_.order(leaf).uses_at(pass, place, {&index, 1}, {&occurrence, 1});
      ASSERT_EQ(draw, (Draw{draw.leaf, occurrence, pass, place, index})) << "at " << i;
      ++made[leaf];
    }
  }

  void next_draw_is_the_first_one_from_there_on() const {
    std::vector<int64_t> made(node_.leaves());
    for (int64_t i = 0; i <= count(); ++i) {
      if (count() == 0) return;
      for (size_t leaf = 0; leaf < node_.leaves(); ++leaf) {
        const int64_t size = leaf_size(leaf);
        if (size == 0) continue;
        const Order::Use expected{made[leaf] / size, made[leaf] % size};
        ASSERT_EQ(node_.next_draw(leaf, use(i)), expected) << "leaf " << leaf << " at " << i;
        // The end of an epoch is the beginning of the next one.
        if (i > 0 && i % node_.size() == 0) {
          ASSERT_EQ(node_.next_draw(leaf, {i / node_.size() - 1, node_.size()}), expected) << "leaf " << leaf;
        }
      }
      if (i < count()) ++made[static_cast<size_t>(walk_[static_cast<size_t>(i)].leaf)];
    }
  }

  void position_of_is_the_inverse() const {
    std::vector<Order::Use> after(node_.leaves());
    for (int64_t i = 0; i < count(); ++i) {
      const Draw& draw = walk_[static_cast<size_t>(i)];
      const auto leaf = static_cast<size_t>(draw.leaf);
      ASSERT_EQ(node_.position_of(leaf, {draw.pass, draw.place}), use(i)) << testing::PrintToString(draw);
      const int64_t made = draw.pass * leaf_size(leaf) + draw.place + 1;
      after[leaf] = {made / leaf_size(leaf), made % leaf_size(leaf)};
    }
    // The first draw behind the walk.
    for (size_t leaf = 0; leaf < node_.leaves() && count() > 0; ++leaf) {
      if (leaf_size(leaf) == 0) continue;
      const Order::Use position = node_.position_of(leaf, after[leaf]);
      ASSERT_GE(position.epoch, epochs_);
      if (position == PlanNode::kNever) continue;
      ASSERT_LT(position.position, node_.size());
      ASSERT_EQ(node_.next_draw(leaf, position), after[leaf]);
    }
  }

  void next_use_is_the_first_one_from_there_on() const {
    for (size_t leaf = 0; leaf < node_.leaves(); ++leaf) {
      const int64_t ids = node_.order(leaf).ids();
      for (int64_t index = 0; index < ids; index += 1 + ids / 5) check_next_uses(leaf, index);
    }
  }

  void check_next_uses(size_t leaf, int64_t index) const {
    std::vector<int64_t> uses;  // the positions that use the sample
    for (int64_t i = 0; i < count(); ++i) {
      const Draw& draw = walk_[static_cast<size_t>(i)];
      if (static_cast<size_t>(draw.leaf) == leaf && draw.index == index) uses.push_back(i);
    }
    for (int64_t at = 0; at < count(); at += 1 + count() / 97) {
      const auto next = std::lower_bound(uses.begin(), uses.end(), at);
      const Order::Use found = node_.next_use(leaf, index, use(at));
      if (next != uses.end()) {
        ASSERT_EQ(found, use(*next)) << "sample " << index << " of leaf " << leaf << " from " << at;
      } else {
        ASSERT_GE(found.epoch, epochs_) << "sample " << index << " of leaf " << leaf << " from " << at;
      }
    }
  }

  void leaves_without_samples_never_draw() const {
    for (size_t leaf = 0; leaf < node_.leaves(); ++leaf) {
      if (leaf_size(leaf) > 0) continue;
      ASSERT_EQ(node_.next_draw(leaf, {0, 0}), PlanNode::kNever);
      ASSERT_EQ(node_.position_of(leaf, {0, 0}), PlanNode::kNever);
    }
  }

  const PlanNode& node_;
  const int64_t epochs_;
  const std::vector<Draw> walk_;
};

/// Fails unless `node` keeps the promises of PlanNode in its first epochs.
inline void expect_conforms(const PlanNode& node, int64_t epochs) { NodeConformance(node, epochs).check(); }

}  // namespace forebay
