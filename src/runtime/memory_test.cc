#include "runtime/memory.h"

#include <gtest/gtest.h>

#include "runtime/claim.h"

namespace forebay {
namespace {

constexpr uint64_t kAll = 1000;

TEST(Memory, loaders_get_what_they_want_while_it_is_there) {
  const auto memory = Memory::make();
  const auto one = memory->open({.wanted = 600, .least = 10, .shared_limit = kAll});
  const auto two = memory->open({.wanted = 400, .least = 10, .shared_limit = kAll});
  EXPECT_EQ(one->budget()->capacity(), 600u);
  EXPECT_EQ(two->budget()->capacity(), 400u);
}

TEST(Memory, what_is_not_enough_is_divided_evenly_and_nobody_gets_more_than_it_wants) {
  const auto memory = Memory::make();
  const auto large = memory->open({.wanted = 900, .least = 10, .shared_limit = kAll});
  const auto larger = memory->open({.wanted = 5000, .least = 10, .shared_limit = kAll});
  const auto small = memory->open({.wanted = 100, .least = 10, .shared_limit = kAll});
  EXPECT_EQ(small->budget()->capacity(), 100u);
  EXPECT_EQ(large->budget()->capacity(), 450u);
  EXPECT_EQ(larger->budget()->capacity(), 450u);
}

TEST(Memory, what_one_leaves_the_others_have) {
  const auto memory = Memory::make();
  const auto one = memory->open({.wanted = 900, .least = 10, .shared_limit = kAll});
  auto two = memory->open({.wanted = 900, .least = 10, .shared_limit = kAll});
  EXPECT_EQ(one->budget()->capacity(), 500u);
  two.reset();
  EXPECT_EQ(one->budget()->capacity(), 900u);
}

TEST(Memory, nobody_gets_less_than_its_oldest_element_needs) {
  const auto memory = Memory::make();
  const auto needy = memory->open({.wanted = 900, .least = 800, .shared_limit = kAll});
  const auto other = memory->open({.wanted = 900, .least = 300, .shared_limit = kAll});
  EXPECT_EQ(needy->budget()->capacity(), 800u);
  EXPECT_EQ(other->budget()->capacity(), 300u);
}

TEST(Memory, what_users_said_is_neither_more_nor_less_and_counts_for_all) {
  const auto memory = Memory::make();
  const auto fixed = memory->open({.wanted = 700, .least = 100});
  const auto automatic = memory->open({.wanted = 900, .least = 10, .shared_limit = kAll});
  EXPECT_EQ(fixed->budget()->capacity(), 700u);
  EXPECT_EQ(automatic->budget()->capacity(), 300u);
  EXPECT_FALSE(fixed->raise(701));
  EXPECT_EQ(fixed->budget()->capacity(), 700u);
}

TEST(Memory, a_rare_large_element_raises_one_part_at_the_cost_of_the_others) {
  const auto memory = Memory::make();
  const auto one = memory->open({.wanted = 900, .least = 10, .shared_limit = kAll});
  const auto two = memory->open({.wanted = 900, .least = 10, .shared_limit = kAll});
  EXPECT_TRUE(one->raise(700));
  EXPECT_EQ(one->budget()->capacity(), 700u);
  EXPECT_EQ(two->budget()->capacity(), 300u);
  EXPECT_FALSE(one->raise(kAll + 1));
}

TEST(Memory, whoever_holds_more_than_its_part_gets_nothing_new_before_it_has_given_back) {
  const auto memory = Memory::make();
  const auto one = memory->open({.wanted = 900, .least = 10, .shared_limit = kAll});
  auto held = Claim::take(one->budget(), Use::kFetched, 800);
  ASSERT_TRUE(held);
  const auto two = memory->open({.wanted = 900, .least = 10, .shared_limit = kAll});
  EXPECT_FALSE(Claim::take(one->budget(), Use::kFetched, 1));
  held->shrink_to(400);
  EXPECT_TRUE(Claim::take(one->budget(), Use::kFetched, 100));
  EXPECT_TRUE(Claim::take(two->budget(), Use::kFetched, 500));
}

TEST(Memory, claims_outlast_their_account) {
  const auto memory = Memory::make();
  auto account = memory->open({.wanted = 100, .least = 10, .shared_limit = kAll});
  auto claim = Claim::take(account->budget(), Use::kFetched, 50);
  account.reset();
  claim->give_back();
}

TEST(Memory, what_lies_beside_is_not_divided) {
  const auto memory = Memory::make();
  const auto one = memory->open({.wanted = 600, .least = 10, .shared_limit = 1000, .extra = 5000});
  const auto two = memory->open({.wanted = 600, .least = 10, .shared_limit = 1000});
  EXPECT_EQ(one->budget()->capacity(), 5500u);
  EXPECT_EQ(two->budget()->capacity(), 500u);
  EXPECT_TRUE(one->raise(5900));
  EXPECT_EQ(one->budget()->capacity(), 5900u);
  EXPECT_FALSE(one->raise(6001)) << "more than all have together";
}

}  // namespace
}  // namespace forebay
