#include "ops/definition/portable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace forebay {
namespace {

TEST(portable_math, has_the_values_that_are_known) {
  EXPECT_EQ(portable_exp(0), 1.0);
  EXPECT_EQ(portable_log(1), 0.0);
  for (int power = -1000; power <= 1000; power += 50)
    EXPECT_EQ(portable_log(std::ldexp(1.0, power)), power * 0.693147180559945309417) << power;
}

// These functions draw crops: their bits may never change, or the epochs of old seeds would.
TEST(portable_math, has_the_same_bits_for_ever) {
  EXPECT_EQ(std::bit_cast<uint64_t>(portable_exp(1)), 0x4005bf0a8b14576au);
  EXPECT_EQ(std::bit_cast<uint64_t>(portable_log(10)), 0x40026bb1bbb55515u);
  EXPECT_NEAR(portable_log(4.0 / 3.0), 0.28768207245178085, 1e-16);
}

TEST(portable_math, goes_there_and_back) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> numbers(-600, 600);
  for (int i = 0; i < 2000; ++i) {
    const double x = numbers(random);
    EXPECT_NEAR(portable_log(portable_exp(x)), x, 1e-12) << x;
  }
}

TEST(portable_math, never_falls_where_the_argument_rises) {
  double last_exp = 0, last_log = -1e9;
  for (double x = 0.5; x < 2.5; x += 1e-4) {
    EXPECT_GE(portable_exp(x), last_exp) << x;
    EXPECT_GE(portable_log(x), last_log) << x;
    last_exp = portable_exp(x);
    last_log = portable_log(x);
  }
}

TEST(portable_math, adds_where_arguments_are_multiplied) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> numbers(0.01, 100);
  for (int i = 0; i < 2000; ++i) {
    const double a = numbers(random), b = numbers(random);
    EXPECT_NEAR(portable_log(a * b), portable_log(a) + portable_log(b), 1e-14) << a << " " << b;
    EXPECT_NEAR(portable_exp(std::log(a)) / a, 1, 1e-14) << a;
  }
}

}  // namespace
}  // namespace forebay
