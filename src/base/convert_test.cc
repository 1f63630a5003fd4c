#include "base/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace forebay {
namespace {

// Follows the definition of IEEE 754 binary16 in exact arithmetic.
double value_of_half(uint16_t half) {
  const int exponent = (half >> 10) & 31, mantissa = half & 1023;
  const double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 31)
    return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(Half, every_half_becomes_its_value_and_comes_back) {
  for (uint32_t half = 0; half <= 0xffff; ++half) {
    const float value = half_to_float(static_cast<uint16_t>(half));
    const double expected = value_of_half(static_cast<uint16_t>(half));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << half;
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value)))) << half;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << half;
    ASSERT_EQ(std::signbit(value), std::signbit(expected)) << half;
    ASSERT_EQ(float_to_half(value), half);
  }
}

TEST(Half, between_two_halves_the_nearer_wins_and_ties_go_to_even) {
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const double low = value_of_half(static_cast<uint16_t>(half));
    const double high = half + 1 == 0x7c00 ? 65536 : value_of_half(static_cast<uint16_t>(half + 1));
    // Exact: needs one bit more than a half has.
    const auto middle = static_cast<float>((low + high) / 2);
    const uint32_t even = half % 2 == 0 ? half : half + 1;
    for (const uint32_t sign : {0u, 0x8000u}) {
      const float signed_middle = sign ? -middle : middle;
      ASSERT_EQ(float_to_half(signed_middle), even | sign) << half;
      ASSERT_EQ(float_to_half(std::nextafter(signed_middle, 0.0f)), half | sign) << half;
      ASSERT_EQ(float_to_half(std::nextafter(signed_middle, sign ? -INFINITY : INFINITY)), (half + 1) | sign) << half;
    }
  }
}

TEST(Bfloat16, every_one_becomes_its_value_and_comes_back) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = bfloat16_to_float(static_cast<uint16_t>(bits));
    ASSERT_EQ(std::bit_cast<uint32_t>(value), bits << 16);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(value)))) << bits;
    } else {
      ASSERT_EQ(float_to_bfloat16(value), bits);
    }
  }
  // NaNs whose payload lies in the bits that are dropped.
  for (const uint32_t bits : {0x7f800001u, 0xff80ffffu, 0x7fffffffu, 0xffffffffu})
    EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(bits))))) << bits;
}

TEST(Bfloat16, between_two_the_nearer_wins_and_ties_go_to_even) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1, tie = bits << 16 | 0x8000;
    for (const uint32_t sign : {0u, 0x8000u}) {
      const auto rounded = [&](uint32_t magnitude) {
        return float_to_bfloat16(std::bit_cast<float>(magnitude | sign << 16));
      };
      ASSERT_EQ(rounded(tie), even | sign) << bits;
      ASSERT_EQ(rounded(tie - 1), bits | sign) << bits;
      ASSERT_EQ(rounded(tie + 1), (bits + 1) | sign) << bits;
    }
  }
}

TEST(Half, what_is_too_large_is_infinite) {
  for (const float value : {65520.0f, 1e6f, std::numeric_limits<float>::max(), INFINITY}) {
    EXPECT_EQ(float_to_half(value), 0x7c00);
    EXPECT_EQ(float_to_half(-value), 0xfc00);
  }
  EXPECT_EQ(float_to_half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
}

template <typename T>
T filled(DType dtype, double value) {
  std::array<T, 3> out{};
  fill(dtype, value, out.data(), out.size());
  EXPECT_EQ(out[0], out[2]);
  return out[1];
}

TEST(Fill, rounds_and_saturates) {
  EXPECT_EQ(filled<uint8_t>(DType::kUint8, 255.4), 255);
  EXPECT_EQ(filled<uint8_t>(DType::kUint8, 1e9), 255);
  EXPECT_EQ(filled<uint8_t>(DType::kUint8, -3), 0);
  EXPECT_EQ(filled<int8_t>(DType::kInt8, -128.6), -128);
  EXPECT_EQ(filled<int16_t>(DType::kInt16, 2.5), 2);
  EXPECT_EQ(filled<uint16_t>(DType::kUint16, 3.5), 4);
  EXPECT_EQ(filled<int32_t>(DType::kInt32, -1e10), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(filled<int64_t>(DType::kInt64, 0x1p63), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(filled<int64_t>(DType::kInt64, -1e300), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(filled<uint64_t>(DType::kUint64, 0x1p64), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(filled<uint8_t>(DType::kBool, 0.1), 1);
  EXPECT_EQ(filled<uint16_t>(DType::kFloat16, 1.0), 0x3c00);
  EXPECT_EQ(filled<float>(DType::kFloat32, -0.5), -0.5f);
  EXPECT_EQ(filled<double>(DType::kFloat64, 1e300), 1e300);
  EXPECT_EQ(filled<uint32_t>(DType::kUint32, std::nan("")), 0u);
}

}  // namespace
}  // namespace forebay
