#include "ops/image/unrepresentable_elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "ops/definition/element_types.h"

namespace forebay {
namespace {

constexpr DType kTypes[] = {DType::kBool,    DType::kUint8,   DType::kInt8,    DType::kUint16, DType::kInt16,
                            DType::kUint32,  DType::kInt32,   DType::kInt64,   DType::kUint64, DType::kFloat16,
                            DType::kFloat32, DType::kFloat64, DType::kBfloat16};

// The ends of every type and their neighbours, as far as T can represent them; 16-bit floats by
// their bits.
template <typename T>
std::vector<T> remarkable() {
  if constexpr (kIsSmallFloat<T>) {
    std::vector<T> all;
    for (uint32_t bits = 0; bits < 0x10000; ++bits) all.push_back({static_cast<uint16_t>(bits)});
    return all;
  } else {
    std::vector<T> values = {T{0}, T{1}, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
    for (const int digits : {7, 8, 15, 16, 31, 32, 63, 64}) {
      for (const long double sign : {1.0L, -1.0L}) {
        for (const long double beside : {-1.5L, -1.0L, -0.75L, -0.5L, -0.25L, 0.0L, 0.25L, 0.5L, 0.75L, 1.0L}) {
          const long double x = sign * std::ldexp(1.0L, digits) + beside;
          if (x >= static_cast<long double>(std::numeric_limits<T>::lowest()) &&
              x <= static_cast<long double>(std::numeric_limits<T>::max()))
            values.push_back(static_cast<T>(x));
        }
      }
    }
    for (const double x : {-0.99, -0.5, -0.25}) {
      if (std::is_signed_v<T>) values.push_back(static_cast<T>(x));
    }
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      for (const T x : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) values.push_back(x);
      for (size_t i = values.size(); i-- > 0;) {
        values.push_back(std::nextafter(values[i], Limits::infinity()));
        values.push_back(std::nextafter(values[i], -Limits::infinity()));
      }
    }
    return values;
  }
}

template <typename To>
bool fits(long double value, Rounding rounding) {
  if constexpr (!std::is_integral_v<To> || std::is_same_v<To, bool>) {
    return true;
  } else {
    const long double whole = rounding == Rounding::kHalfToEven ? std::nearbyint(value) : std::trunc(value);
    return whole >= static_cast<long double>(std::numeric_limits<To>::min()) &&
           whole <= static_cast<long double>(std::numeric_limits<To>::max());
  }
}

template <typename From, typename To>
void compare(DType from, DType to, Rounding rounding) {
  bool all = true;
  for (const From value : remarkable<From>()) {
    const bool expected = fits<To>(static_cast<long double>(widen(value)), rounding);
    const auto found = first_unrepresentable(from, reinterpret_cast<const uint8_t*>(&value), to, 1, rounding);
    ASSERT_EQ(!found.has_value(), expected)
        << dtype_name(from) << " " << static_cast<double>(widen(value)) << " as " << dtype_name(to);
    all = all && expected;
  }
  EXPECT_EQ(always_fits(from, to), all) << dtype_name(from) << " as " << dtype_name(to);
}

TEST(unrepresentable_elements, are_those_that_rounded_lie_outside_the_type) {
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      with_element(from, [&](auto a) {
        with_element(to, [&](auto b) {
          for (const Rounding rounding : {Rounding::kHalfToEven, Rounding::kTowardZero})
            compare<decltype(a), decltype(b)>(from, to, rounding);
        });
      });
    }
  }
}

TEST(unrepresentable_elements, are_found_wherever_they_stand) {
  for (const int64_t count : {1, 2, 255, 256, 257, 1000}) {
    for (const int64_t place : {int64_t{0}, count / 2, count - 1}) {
      for (const size_t shift : {size_t{0}, size_t{1}}) {  // aligned, and not
        std::vector<uint8_t> bytes(static_cast<size_t>(count) * 4 + shift);
        uint8_t* const in = bytes.data() + shift;
        const auto find = [&] {
          return first_unrepresentable(DType::kInt32, in, DType::kUint8, count, Rounding::kTowardZero);
        };
        EXPECT_EQ(find(), std::nullopt);
        store_element(in, place, int32_t{256});
        EXPECT_EQ(find(), place);
        store_element(in, count - 1, int32_t{-1});
        EXPECT_EQ(find(), place);
      }
    }
  }
  EXPECT_EQ(first_unrepresentable(DType::kFloat64, nullptr, DType::kInt8, 0, Rounding::kTowardZero), std::nullopt);
}

TEST(unrepresentable_elements, are_told_with_what_the_type_holds) {
  const double values[] = {1, std::numeric_limits<double>::quiet_NaN()};
  const auto* in = reinterpret_cast<const uint8_t*>(values);
  EXPECT_EQ(describe_unrepresentable(DType::kFloat64, in, DType::kInt8, 1, false),
            "nan at element 1, and int8 goes from -128 to 127");
  const int64_t big = 300;
  EXPECT_EQ(describe_unrepresentable(DType::kInt64, reinterpret_cast<const uint8_t*>(&big), DType::kUint8, 0, true),
            "300, and uint8 goes from 0 to 255");
}

}  // namespace
}  // namespace forebay
