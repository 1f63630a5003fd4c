#include "plan/mixing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace forebay {
namespace {

Mixing mixing_of(const MixingOptions& options, int64_t block, int64_t lanes = 1) {
  auto order = blockwise_order({options.chunk_rows, block, lanes, /*seed=*/7});
  EXPECT_TRUE(order.ok());
  return measure_mixing(**order, options);
}

TEST(mixing, of_a_flat_shuffle_is_one) {
  const MixingOptions options{.chunk_rows = std::vector<int64_t>(100, 1000), .batch = 500};
  const Mixing flat = measure_mixing(*shuffled_order(100'000, 3), options);
  EXPECT_NEAR(flat.distance, 1, 0.02);
  // 500 draws from 100 chunks miss each with (1 - 1/100)^500.
  EXPECT_NEAR(flat.chunks, 100 * (1 - std::pow(0.99, 500)), 0.2);
}

TEST(mixing, of_no_shuffle_is_nothing) {
  const MixingOptions options{.chunk_rows = std::vector<int64_t>(10, 1000), .batch = 500};
  const Mixing mixing = measure_mixing(*sequential_order(10'000), options);
  EXPECT_NEAR(mixing.distance, 3.0 / 10'001, 1e-9);
  EXPECT_EQ(mixing.chunks, 1);
  EXPECT_EQ(mixing.largest_share, 1);
}

TEST(mixing, grows_with_the_block_as_the_share_of_the_rows_that_it_holds) {
  const MixingOptions options{.chunk_rows = std::vector<int64_t>(64, 500), .batch = 256};
  double before = 0;
  for (const int64_t block : {1, 2, 4, 8, 16, 32, 64}) {
    const Mixing mixing = mixing_of(options, block);
    // Pairs inside a chunk, which are all but one in 500, are a third of their block apart.
    EXPECT_NEAR(mixing.distance, static_cast<double>(block) / 64, 0.03 + 0.05 * static_cast<double>(block) / 64);
    EXPECT_GT(mixing.distance, before);
    before = mixing.distance;
    EXPECT_LE(mixing.chunks, static_cast<double>(2 * block));
    EXPECT_GE(mixing.largest_share, 1.0 / static_cast<double>(2 * block));
  }
  EXPECT_NEAR(before, 1, 0.05);
}

TEST(mixing, lanes_put_several_blocks_into_a_batch) {
  const MixingOptions options{.chunk_rows = std::vector<int64_t>(64, 500), .batch = 256};
  EXPECT_GT(mixing_of(options, 2, 8).chunks, 3 * mixing_of(options, 2, 1).chunks);
}

TEST(mixing, takes_chunks_of_any_size_and_data_sets_of_any) {
  const MixingOptions uneven{.chunk_rows = {1, 0, 5000, 3, 0, 70, 1}, .batch = 100};
  EXPECT_GT(mixing_of(uneven, 3).distance, 0.5);
  for (const std::vector<int64_t>& chunks : {std::vector<int64_t>{}, {1}, {2}, {1, 1}}) {
    const Mixing mixing = mixing_of({.chunk_rows = chunks, .batch = 8}, 2);
    EXPECT_LE(mixing.chunks, 2);
  }
  // 10^15 rows: the size of the sample does not grow.
  const MixingOptions huge{.chunk_rows = std::vector<int64_t>(1000, 1'000'000'000'000), .batch = int64_t{1} << 40};
  const Mixing mixing = mixing_of(huge, 100);
  EXPECT_NEAR(mixing.distance, 0.1, 0.02);
}

TEST(mixing, table_has_the_usual_blocks_the_one_in_use_and_all_of_them) {
  const auto blocks_of = [](size_t chunks, int64_t block) {
    std::vector<int64_t> blocks;
    const auto table = mixing_table({.chunk_rows = std::vector<int64_t>(chunks, 50), .batch = 10}, block, 1, 7);
    EXPECT_TRUE(table.ok());
    for (const MixingRow& row : *table) blocks.push_back(row.block);
    return blocks;
  };
  EXPECT_EQ(blocks_of(100, 12), (std::vector<int64_t>{1, 2, 4, 8, 12, 16, 32, 100, 0}));
  EXPECT_EQ(blocks_of(5, 8), (std::vector<int64_t>{1, 2, 4, 5, 0}));
  EXPECT_EQ(blocks_of(0, 8), (std::vector<int64_t>{1, 0}));
  EXPECT_FALSE(mixing_table({.chunk_rows = {10}, .batch = 0}, 8, 1, 7).ok());
  EXPECT_FALSE(mixing_table({.chunk_rows = {-1}, .batch = 1}, 8, 1, 7).ok());
}

}  // namespace
}  // namespace forebay
