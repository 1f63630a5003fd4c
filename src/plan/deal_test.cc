#include "plan/deal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "plan/test_deals.h"

namespace forebay {
namespace {

// Every promise of the interface, for every deal.
class DealConformanceTest : public testing::TestWithParam<DealCase> {};

TEST_P(DealConformanceTest, each_slot_to_one_rank_and_none_without) {
  const auto deal = GetParam().make();
  for (int64_t world : {1, 2, 3, 7, 16}) {
    for (int64_t slots : {world, world + 1, 2 * world - 1, 5 * world, 5 * world + 3}) {
      const GlobalBatch batch{100, slots, slots, world};
      std::vector<int64_t> dealt;
      for (int64_t rank = 0; rank < world; ++rank) {
        std::vector<int64_t> mine{-1};  // what was there is replaced
        deal->slots(batch, rank, &mine);
        EXPECT_FALSE(mine.empty());
        EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
        dealt.insert(dealt.end(), mine.begin(), mine.end());
      }
      std::sort(dealt.begin(), dealt.end());
      ASSERT_EQ(static_cast<int64_t>(dealt.size()), slots);
      for (int64_t slot = 0; slot < slots; ++slot) EXPECT_EQ(dealt[static_cast<size_t>(slot)], slot);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Deals, DealConformanceTest, testing::ValuesIn(deal_cases()), deal_case_name);

TEST(DealByCountTest, contiguous_runs_with_the_longer_first) {
  const GlobalBatch batch{0, 11, 11, 4};
  std::vector<int64_t> mine;
  deal_by_count()->slots(batch, 0, &mine);
  EXPECT_EQ(mine, (std::vector<int64_t>{0, 1, 2}));
  deal_by_count()->slots(batch, 2, &mine);
  EXPECT_EQ(mine, (std::vector<int64_t>{6, 7, 8}));
  deal_by_count()->slots(batch, 3, &mine);
  EXPECT_EQ(mine, (std::vector<int64_t>{9, 10}));
}

}  // namespace
}  // namespace forebay
