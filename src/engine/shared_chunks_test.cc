#include "engine/shared_chunks.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

Hash128 key_of(uint64_t number) { return {number, 0}; }

SharedChunks::Rows rows_of(int64_t count) {
  Columns columns;
  columns.rows = count;
  return std::make_shared<const Columns>(std::move(columns));
}

TEST(SharedChunks, rows_are_found_as_long_as_somebody_holds_them) {
  const auto chunks = SharedChunks::make();
  SharedChunks::Rows rows = rows_of(3);
  chunks->offer(key_of(1), rows);
  EXPECT_EQ(chunks->find(key_of(1)), rows);
  EXPECT_EQ(chunks->find(key_of(2)), nullptr);
  SharedChunks::Rows taken = chunks->find(key_of(1));
  rows.reset();
  EXPECT_EQ(chunks->find(key_of(1)), taken) << "whoever took them holds them, too";
  taken.reset();
  EXPECT_EQ(chunks->find(key_of(1)), nullptr);
}

TEST(SharedChunks, who_waits_is_told_once_when_nobody_is_at_work_any_more) {
  const auto chunks = SharedChunks::make();
  int calls = 0;
  EXPECT_FALSE(chunks->subscribe(key_of(1), [&] { ++calls; })) << "nobody is at work";
  auto one = chunks->begin(key_of(1)), two = chunks->begin(key_of(1));
  EXPECT_TRUE(chunks->subscribe(key_of(1), [&] { ++calls; }));
  EXPECT_FALSE(chunks->subscribe(key_of(2), [&] { ++calls; })) << "that is another chunk";
  one.reset();
  EXPECT_EQ(calls, 0);
  two.reset();
  EXPECT_EQ(calls, 1);
  chunks->begin(key_of(1)).reset();
  EXPECT_EQ(calls, 1);
}

TEST(SharedChunks, who_is_told_may_begin_at_once) {
  const auto chunks = SharedChunks::make();
  std::unique_ptr<SharedChunks::Work> mine;
  auto other = chunks->begin(key_of(1));
  ASSERT_TRUE(chunks->subscribe(key_of(1), [&] { mine = chunks->begin(key_of(1)); }));
  other.reset();
  EXPECT_TRUE(mine);
  EXPECT_TRUE(chunks->subscribe(key_of(1), [] {}));
}

TEST(SharedChunks, nothing_is_left_of_rows_that_are_gone) {
  const auto chunks = SharedChunks::make();
  const SharedChunks::Rows held = rows_of(1);
  chunks->offer(key_of(0), held);
  for (uint64_t i = 1; i < 10'000; ++i) chunks->offer(key_of(i), rows_of(1));
  EXPECT_EQ(chunks->find(key_of(0)), held);
  EXPECT_LE(chunks->size(), 200u);
}

}  // namespace
}  // namespace forebay
