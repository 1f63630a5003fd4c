#include "engine/shared_units.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

Hash128 key_of(uint64_t number) { return {number, 0}; }

SharedUnits::Rows rows_of(int64_t count) {
  Columns columns;
  columns.rows = count;
  return std::make_shared<const Columns>(std::move(columns));
}

TEST(SharedUnits, rows_are_found_as_long_as_somebody_holds_them) {
  const auto units = SharedUnits::make();
  SharedUnits::Rows rows = rows_of(3);
  units->offer(key_of(1), rows);
  EXPECT_EQ(units->find(key_of(1)), rows);
  EXPECT_EQ(units->find(key_of(2)), nullptr);
  SharedUnits::Rows taken = units->find(key_of(1));
  rows.reset();
  EXPECT_EQ(units->find(key_of(1)), taken) << "whoever took them holds them, too";
  taken.reset();
  EXPECT_EQ(units->find(key_of(1)), nullptr);
}

TEST(SharedUnits, who_waits_is_told_once_when_nobody_is_at_work_any_more) {
  const auto units = SharedUnits::make();
  int told = 0;
  EXPECT_FALSE(units->wait(key_of(1), [&] { ++told; })) << "nobody is at work";
  auto one = units->begin(key_of(1)), two = units->begin(key_of(1));
  EXPECT_TRUE(units->wait(key_of(1), [&] { ++told; }));
  EXPECT_FALSE(units->wait(key_of(2), [&] { ++told; })) << "that is another unit";
  one.reset();
  EXPECT_EQ(told, 0);
  two.reset();
  EXPECT_EQ(told, 1);
  units->begin(key_of(1)).reset();
  EXPECT_EQ(told, 1);
}

TEST(SharedUnits, who_is_told_may_begin_at_once) {
  const auto units = SharedUnits::make();
  std::unique_ptr<SharedUnits::Work> mine;
  auto other = units->begin(key_of(1));
  ASSERT_TRUE(units->wait(key_of(1), [&] { mine = units->begin(key_of(1)); }));
  other.reset();
  EXPECT_TRUE(mine);
  EXPECT_TRUE(units->wait(key_of(1), [] {}));
}

TEST(SharedUnits, nothing_is_left_of_rows_that_are_gone) {
  const auto units = SharedUnits::make();
  const SharedUnits::Rows held = rows_of(1);
  units->offer(key_of(0), held);
  for (uint64_t i = 1; i < 10'000; ++i) units->offer(key_of(i), rows_of(1));
  EXPECT_EQ(units->find(key_of(0)), held);
  EXPECT_LE(units->size(), 200u);
}

}  // namespace
}  // namespace forebay
