#include "ops/image/simd_level.h"

#include <algorithm>
#include <functional>
#include <span>

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr SimdLevel kLevels[] = {SimdLevel::kScalar, SimdLevel::kNeon, SimdLevel::kSse4, SimdLevel::kAvx2,
                                 SimdLevel::kAvx512};

TEST(simd_level, is_called_by_a_name_that_leads_back_to_it) {
  for (const SimdLevel level : kLevels) EXPECT_EQ(simd_level_from_name(simd_level_name(level)), level);
  for (const char* name : {"", "AVX2", "avx", "avx2 ", "sve"}) EXPECT_FALSE(simd_level_from_name(name)) << name;
}

TEST(simd_level, supported_are_those_of_one_architecture_and_plain_code_is_the_first) {
  const std::span<const SimdLevel> levels = simd_levels();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.front(), SimdLevel::kScalar);
  EXPECT_TRUE(std::ranges::is_sorted(levels, std::less_equal())) << "or a level twice";
#if defined(__aarch64__)
  EXPECT_EQ(levels.back(), SimdLevel::kNeon);
  EXPECT_EQ(levels.size(), 2u);
#else
  EXPECT_EQ(std::ranges::count(levels, SimdLevel::kNeon), 0);
#endif
}

TEST(simd_level, asked_for_is_never_more_than_the_processor_has) {
  for (const SimdLevel level : kLevels) {
    set_simd_level(level);
    SimdLevel expected = SimdLevel::kScalar;
    for (const SimdLevel supported : simd_levels()) expected = supported <= level ? supported : expected;
    EXPECT_EQ(simd_level(), expected) << simd_level_name(level);
  }
  set_simd_level(best_simd_level());
}

}  // namespace
}  // namespace forebay
