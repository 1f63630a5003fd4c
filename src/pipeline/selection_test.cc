#include "pipeline/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace forebay {
namespace {

TEST(Selection, the_first_samples) {
  const auto all = first_samples(10);
  EXPECT_EQ(all->size(), 10);
  EXPECT_EQ(all->id_at(7), 7);
  EXPECT_EQ(first_of(all, 3)->size(), 3);
  EXPECT_EQ(first_of(all, 30)->size(), 10) << "no more than there are";
  EXPECT_EQ(first_of(all, 0)->size(), 0);
}

TEST(Selection, kept_samples_are_found_by_their_number) {
  std::mt19937_64 random(1);
  for (const int64_t n : {1, 63, 64, 65, 511, 512, 513, 5000, 40'000}) {
    for (const int density : {0, 1, 50, 99, 100}) {
      std::vector<uint64_t> bits(static_cast<size_t>((n + 63) / 64));
      std::vector<int64_t> kept;
      for (int64_t i = 0; i < n; ++i) {
        if (static_cast<int>(random() % 100) >= density) continue;
        bits[static_cast<size_t>(i / 64)] |= uint64_t{1} << (i % 64);
        kept.push_back(i);
      }
      const MarkedSamples selection(first_samples(n), bits);
      ASSERT_EQ(selection.size(), static_cast<int64_t>(kept.size()));
      for (size_t i = 0; i < kept.size(); ++i)
        ASSERT_EQ(selection.id_at(static_cast<int64_t>(i)), kept[i]) << n << ' ' << density;
      EXPECT_LE(selection.bytes(), static_cast<uint64_t>(n) / 7 + 16);
    }
  }
}

TEST(Selection, long_empty_stretches_are_jumped_over) {
  std::vector<uint64_t> bits(10'000);
  bits[9'999] = uint64_t{1} << 63;
  bits[5'000] = 1;
  const MarkedSamples selection(first_samples(640'000), bits);
  EXPECT_EQ(selection.id_at(0), 320'000);
  EXPECT_EQ(selection.id_at(1), 639'999);
}

TEST(Selection, filters_stand_on_each_other) {
  const auto odd = std::make_shared<MarkedSamples>(first_samples(128), std::vector<uint64_t>(2, 0xAAAAAAAAAAAAAAAA));
  const MarkedSamples every_fourth(odd, {0xAAAAAAAAAAAAAAAA});
  EXPECT_EQ(every_fourth.size(), 32);
  EXPECT_EQ(every_fourth.id_at(0), 3);
  EXPECT_EQ(every_fourth.id_at(31), 127);
  EXPECT_EQ(first_of(odd, 2)->id_at(1), 3);
}

TEST(Selection, version_is_of_what_was_kept) {
  EXPECT_EQ(MarkedSamples(first_samples(64), {5}).version(), MarkedSamples(first_samples(64), {5}).version());
  EXPECT_FALSE(MarkedSamples(first_samples(64), {5}).version() == MarkedSamples(first_samples(64), {6}).version());
}

std::vector<int64_t> ids_of(const Selection& selection) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < selection.size(); ++i) ids.push_back(selection.id_at(i));
  return ids;
}

TEST(Selection, spread_samples_stand_as_far_apart_as_each_other) {
  EXPECT_EQ(ids_of(*spread_over(first_samples(10), 3)), (std::vector<int64_t>{0, 3, 6}));
  EXPECT_EQ(spread_over(first_samples(10), 10)->size(), 10);
  EXPECT_EQ(spread_over(first_samples(10), 11)->size(), 10) << "no more than there are";
  const auto odd = std::make_shared<MarkedSamples>(first_samples(128), std::vector<uint64_t>(2, 0xAAAAAAAAAAAAAAAA));
  EXPECT_EQ(ids_of(*spread_over(odd, 4)), (std::vector<int64_t>{1, 33, 65, 97})) << "of those that were kept";
  const auto few_of_many = spread_over(first_samples(INT64_MAX), 1'000'000'007);
  EXPECT_EQ(few_of_many->id_at(1'000'000'006),
            static_cast<int64_t>(static_cast<unsigned __int128>(INT64_MAX) * 1'000'000'006 / 1'000'000'007));
}

TEST(Selection, rows_spread_over_a_table_come_from_as_few_chunks_as_have_them) {
  const auto of = [](std::vector<int64_t> rows, int64_t size) {
    const int64_t all = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    return ids_of(*spread_over_chunks(first_samples(all), rows, size));
  };
  EXPECT_EQ(of({10, 10, 10, 10}, 3), (std::vector<int64_t>{20, 21, 22}));
  EXPECT_EQ(of({10, 10, 10, 10}, 12), (std::vector<int64_t>{10, 11, 12, 13, 14, 15, 30, 31, 32, 33, 34, 35}));
  EXPECT_EQ(of({10, 10, 10, 10}, 40).size(), 40u);
  EXPECT_EQ(of({10, 10}, 90).size(), 20u) << "no more than there are";
  EXPECT_EQ(of({0, 4, 0}, 2), (std::vector<int64_t>{0, 1})) << "chunks of which nothing takes part are not chosen";
}

TEST(Selection, counts_the_selected_ids_below_one) {
  const std::shared_ptr<const Selection> chosen =
      spread_over_chunks(first_samples(30), std::vector<int64_t>{10, 10, 10}, 6);
  ASSERT_EQ(ids_of(*chosen), (std::vector<int64_t>{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(selected_before(*chosen, 0), 0);
  EXPECT_EQ(selected_before(*chosen, 10), 0);
  EXPECT_EQ(selected_before(*chosen, 13), 3);
  EXPECT_EQ(selected_before(*chosen, 30), 6);
}

TEST(Selection, spread_rows_are_exactly_so_many_and_ascend_whatever_the_chunks_have) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> rows(1 + random() % 40);
    for (int64_t& chunk : rows) chunk = static_cast<int64_t>(random() % 5 == 0 ? random() % 1000 : random() % 8);
    const int64_t all = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    if (all == 0) continue;
    const int64_t size = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(all));
    const std::vector<int64_t> ids = ids_of(*spread_over_chunks(first_samples(all), rows, size));
    ASSERT_EQ(static_cast<int64_t>(ids.size()), size);
    ASSERT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    ASSERT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << "none twice";
    ASSERT_GE(ids.front(), 0);
    ASSERT_LT(ids.back(), all);
  }
}

}  // namespace
}  // namespace forebay
