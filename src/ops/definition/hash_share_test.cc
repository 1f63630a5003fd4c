#include "ops/definition/hash_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace forebay {
namespace {

HashShare share_of(double begin, double end, const std::string& salt = "") {
  const std::vector<ArgDef> defs = HashShare::args();
  const Json given = {{"begin", begin}, {"end", end}, {"salt", salt}};
  return HashShare(Args(given, defs));
}

std::vector<int> chosen(const HashShare& share, int count) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i)
    if (share.has(std::to_string(i))) values.push_back(i);
  return values;
}

// Samples that were held back must stay held back in every version.
TEST(HashShare, has_the_same_values_for_ever) {
  EXPECT_EQ(chosen(share_of(0, 0.1), 60), (std::vector<int>{2, 15, 22, 25, 37, 47, 50, 55}));
  EXPECT_EQ(chosen(share_of(0, 0.1, "other"), 60), (std::vector<int>{4, 12, 13, 43, 45, 53, 55}));
}

TEST(HashShare, divides_all_values_among_shares_that_adjoin) {
  const HashShare first = share_of(0, 0.25), second = share_of(0.25, 0.5), third = share_of(0.5, 1);
  for (int i = 0; i < 1000; ++i) {
    const std::string value = std::to_string(i);
    EXPECT_EQ(first.has(value) + second.has(value) + third.has(value), 1) << value;
  }
  EXPECT_EQ(chosen(share_of(0, 1), 1000).size(), 1000u);
}

TEST(HashShare, has_about_its_share_and_depends_on_the_salt) {
  const std::vector<int> one = chosen(share_of(0.3, 0.5), 10'000), other = chosen(share_of(0.3, 0.5, "b"), 10'000);
  EXPECT_NEAR(static_cast<double>(one.size()), 2000, 160);
  std::vector<int> both;
  std::ranges::set_intersection(one, other, std::back_inserter(both));
  EXPECT_NEAR(static_cast<double>(both.size()), 400, 80);
}

}  // namespace
}  // namespace forebay
