#include "runtime/claim.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay {
namespace {

uint64_t held(const ByteBudget& budget, Use use) { return budget.snapshot().of(use); }

TEST(Claim, bytes_are_held_as_long_as_it_lives) {
  const auto budget = std::make_shared<ByteBudget>(100);
  {
    const std::optional<Claim> claim = Claim::take(budget, Use::kFetched, 60);
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->bytes(), 60u);
    EXPECT_FALSE(Claim::take(budget, Use::kFetched, 50)) << "no more than there are";
    EXPECT_EQ(budget->snapshot().used, 60u);
  }
  EXPECT_EQ(budget->snapshot().used, 0u);
}

TEST(Claim, a_move_gives_nothing_back_and_takes_nothing) {
  const auto budget = std::make_shared<ByteBudget>(100);
  Claim first = *Claim::take(budget, Use::kFetched, 30), second = *Claim::take(budget, Use::kChunks, 20);
  Claim moved = std::move(first);
  EXPECT_EQ(budget->snapshot().used, 50u);
  second = std::move(moved);  // releases its former bytes
  EXPECT_EQ(budget->snapshot().used, 30u);
  EXPECT_EQ(held(*budget, Use::kChunks), 0u);
  std::vector<Claim> many;
  many.push_back(std::move(second));
  many.clear();
  EXPECT_EQ(budget->snapshot().used, 0u);
}

TEST(Claim, grows_while_there_is_room_and_shrinks) {
  const auto budget = std::make_shared<ByteBudget>(100);
  Claim claim = *Claim::take(budget, Use::kFetched, 40);
  EXPECT_FALSE(claim.try_grow(61));
  EXPECT_TRUE(claim.try_grow(60));
  EXPECT_EQ(claim.bytes(), 100u);
  claim.grow_existing(7);
  EXPECT_EQ(budget->snapshot().used, 107u);
  claim.shrink_to(1000);
  EXPECT_EQ(claim.bytes(), 107u);
  claim.shrink_to(10);
  EXPECT_EQ(budget->snapshot().used, 10u);
  claim.give_back();
  EXPECT_EQ(budget->snapshot().used, 0u);
  EXPECT_TRUE(claim.try_grow(5)) << "it knows its budget still";
}

TEST(Claim, parts_change_hands_and_use) {
  const auto budget = std::make_shared<ByteBudget>(100);
  Claim working = *Claim::take(budget, Use::kWorking, 50), fetched = *Claim::take(budget, Use::kFetched, 10);
  fetched.merge(working.split(20));
  EXPECT_EQ(fetched.bytes(), 30u);
  EXPECT_EQ(held(*budget, Use::kFetched), 30u);
  EXPECT_EQ(held(*budget, Use::kWorking), 30u);
  working.move_to(Use::kChunks);
  EXPECT_EQ(held(*budget, Use::kChunks), 30u);
  Claim none;
  none.merge(std::move(working));
  EXPECT_EQ(none.bytes(), 30u);
  Claim empty = fetched.split(0);
  fetched.give_back();
  fetched.merge(std::move(none));
  EXPECT_EQ(held(*budget, Use::kFetched), 30u) << "what it takes over serves its own use";
  EXPECT_EQ(empty.bytes(), 0u);
}

TEST(Claim, of_bytes_that_are_there_already) {
  const auto budget = std::make_shared<ByteBudget>(10);
  const Claim beyond = Claim::of_existing(budget, Use::kBatches, 25);
  EXPECT_EQ(budget->snapshot().used, 25u);
  EXPECT_FALSE(Claim::take(budget, Use::kBatches, 1));
}

}  // namespace
}  // namespace forebay
