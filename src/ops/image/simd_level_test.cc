#include "ops/image/simd_level.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr SimdLevel kLevels[] = {SimdLevel::kScalar, SimdLevel::kSse4, SimdLevel::kAvx2, SimdLevel::kAvx512};

TEST(simd_level, is_called_by_a_name_that_leads_back_to_it) {
  for (const SimdLevel level : kLevels) EXPECT_EQ(simd_level_from_name(simd_level_name(level)), level);
  for (const char* name : {"", "AVX2", "avx", "avx2 ", "neon"}) EXPECT_FALSE(simd_level_from_name(name)) << name;
}

TEST(simd_level, asked_for_is_never_more_than_the_processor_has) {
  for (const SimdLevel level : kLevels) {
    set_simd_level(level);
    EXPECT_EQ(simd_level(), level <= best_simd_level() ? level : best_simd_level());
  }
  set_simd_level(best_simd_level());
}

}  // namespace
}  // namespace forebay
