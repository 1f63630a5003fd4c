#include "ops/image/cast_elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace forebay {
namespace {

template <typename To, typename From>
std::vector<To> cast(DType from, DType to, const std::vector<From>& in) {
  std::vector<To> out(in.size());
  cast_elements(from, reinterpret_cast<const uint8_t*>(in.data()), to, reinterpret_cast<uint8_t*>(out.data()),
                static_cast<int64_t>(in.size()));
  return out;
}

TEST(cast_elements, to_integers_rounds_half_to_even_and_saturates) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> in = {0.5f, 1.5f, 2.5f, -0.5f, -1.6f, 254.6f, 300.0f, -300.0f, inf, -inf, nan};
  EXPECT_EQ((cast<uint8_t, float>(DType::kFloat32, DType::kUint8, in)),
            (std::vector<uint8_t>{0, 2, 2, 0, 0, 255, 255, 0, 255, 0, 0}));
  EXPECT_EQ((cast<int8_t, float>(DType::kFloat32, DType::kInt8, in)),
            (std::vector<int8_t>{0, 2, 2, 0, -2, 127, 127, -128, 127, -128, 0}));
  EXPECT_EQ((cast<int64_t, double>(DType::kFloat64, DType::kInt64, {9.3e18, -9.3e18, 1e15 + 0.5})),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN, 1'000'000'000'000'000}));
}

TEST(cast_elements, between_integers_saturates) {
  EXPECT_EQ((cast<uint8_t, int64_t>(DType::kInt64, DType::kUint8, {-1, 7, 256})), (std::vector<uint8_t>{0, 7, 255}));
  EXPECT_EQ((cast<int32_t, uint64_t>(DType::kUint64, DType::kInt32, {5, UINT64_MAX})),
            (std::vector<int32_t>{5, INT32_MAX}));
}

TEST(cast_elements, bool_is_everything_but_zero) {
  EXPECT_EQ((cast<uint8_t, float>(DType::kFloat32, DType::kBool, {0.0f, -0.0f, 0.25f, -3.0f})),
            (std::vector<uint8_t>{0, 0, 1, 1}));
}

TEST(cast_elements, halves_round_to_the_nearest_even) {
  EXPECT_EQ(half_from_double(1.0), 0x3c00);
  EXPECT_EQ(half_from_double(-2.0), 0xc000);
  EXPECT_EQ(half_from_double(1.0 + 0x1p-11), 0x3c00);  // a tie, to even
  EXPECT_EQ(half_from_double(1.0 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(half_from_double(2047.9), 0x6800);  // carries into the exponent
  EXPECT_EQ(half_from_double(65519.9), 0x7bff);
  EXPECT_EQ(half_from_double(65520.0), 0x7c00);
  EXPECT_EQ(half_from_double(0x1p-24), 0x0001);
  EXPECT_EQ(half_from_double(0x1p-25), 0x0000);
  EXPECT_EQ(half_from_double(-0.0), 0x8000);
}

TEST(cast_elements, every_half_comes_back) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const double value = double_from_half(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(half_from_double(value), bits);
  }
}

}  // namespace
}  // namespace forebay
