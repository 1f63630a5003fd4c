#include "materialize/reuse_plan.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(ReusePlan, NumbersFreshSamplesAmongThemselves) {
  const ReusePlan all;
  EXPECT_FALSE(all.any_reused());
  EXPECT_FALSE(all.reused(5));
  EXPECT_EQ(all.fresh_index(5), 5);
  const ReusePlan some(6, [](int64_t number) { return number % 2 == 0 ? std::optional(number + 10) : std::nullopt; });
  EXPECT_TRUE(some.any_reused());
  EXPECT_EQ(some.reused(4), 14);
  EXPECT_FALSE(some.reused(3));
  EXPECT_EQ(some.fresh(), (std::vector<int64_t>{1, 3, 5}));
  EXPECT_EQ(some.fresh_index(3), 1);
  EXPECT_EQ(some.fresh_index(4), 2);
  EXPECT_EQ(all.reused_rows(0, 6, {}), 0);
  EXPECT_EQ(some.reused_rows(1, 5, {}), 2);
  const std::vector<int64_t> chunks{0, 3, 4, 4, 10, 11, 12};
  EXPECT_EQ(some.reused_rows(0, 12, chunks), 3 + 0 + 1) << "chunks 0, 2 and 4";
  EXPECT_EQ(some.reused_rows(3, 11, chunks), 1);
}

}  // namespace
}  // namespace forebay
