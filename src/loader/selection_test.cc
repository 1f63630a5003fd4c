#include "loader/selection.h"

#include <gtest/gtest.h>

#include <random>

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
      const KeptSamples selection(first_samples(n), bits);
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
  const KeptSamples selection(first_samples(640'000), bits);
  EXPECT_EQ(selection.id_at(0), 320'000);
  EXPECT_EQ(selection.id_at(1), 639'999);
}

TEST(Selection, filters_stand_on_each_other) {
  const auto odd = std::make_shared<KeptSamples>(first_samples(128), std::vector<uint64_t>(2, 0xAAAAAAAAAAAAAAAA));
  const KeptSamples every_fourth(odd, {0xAAAAAAAAAAAAAAAA});
  EXPECT_EQ(every_fourth.size(), 32);
  EXPECT_EQ(every_fourth.id_at(0), 3);
  EXPECT_EQ(every_fourth.id_at(31), 127);
  EXPECT_EQ(first_of(odd, 2)->id_at(1), 3);
}

TEST(Selection, version_is_of_what_was_kept) {
  EXPECT_EQ(KeptSamples(first_samples(64), {5}).version(), KeptSamples(first_samples(64), {5}).version());
  EXPECT_FALSE(KeptSamples(first_samples(64), {5}).version() == KeptSamples(first_samples(64), {6}).version());
}

}  // namespace
}  // namespace forebay
