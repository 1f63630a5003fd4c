#include "ops/definition/element_types.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "ops/column/number.h"
#include "ops/definition/number_or_word.h"

namespace forebay {
namespace {

constexpr DType kEveryType[] = {DType::kBool,    DType::kUint8,   DType::kInt8,    DType::kUint16, DType::kInt16,
                                DType::kUint32,  DType::kInt32,   DType::kUint64,  DType::kInt64,  DType::kFloat16,
                                DType::kFloat32, DType::kFloat64, DType::kBfloat16};

TEST(element_types, are_as_long_as_their_dtype_says) {
  for (const DType dtype : kEveryType)
    EXPECT_EQ(with_element(dtype, [](auto type) { return sizeof type; }), dtype_size(dtype)) << dtype_name(dtype);
}

TEST(element_types, that_are_floating_are_called_so) {
  for (const DType dtype : kEveryType) {
    const std::string name(dtype_name(dtype));
    EXPECT_EQ(is_floating(dtype), name.find("float") != std::string::npos) << name;
  }
}

TEST(map_elements, gives_the_same_wherever_in_and_out_begin) {
  constexpr int64_t kCount = 100;
  std::vector<uint8_t> in(kCount * 8 + 16), out(kCount * 8 + 16);
  for (size_t begin_in = 0; begin_in < 9; ++begin_in) {
    for (size_t begin_out = 0; begin_out < 9; ++begin_out) {
      for (int64_t i = 0; i < kCount; ++i)
        store_element<int32_t>(in.data() + begin_in, i, static_cast<int32_t>(i * i - 7));
      map_elements<int32_t, double>(in.data() + begin_in, out.data() + begin_out, kCount,
                                    [](int32_t x) { return x * 0.5; });
      for (int64_t i = 0; i < kCount; ++i)
        ASSERT_EQ(load_element<double>(out.data() + begin_out, i), static_cast<double>(i * i - 7) * 0.5);
    }
  }
}

// Both ends, the values just beyond them, and values between two integers.
template <typename T>
void check_whole_numbers() {
  using Limits = std::numeric_limits<T>;
  SCOPED_TRACE(std::to_string(sizeof(T) * 8) + (std::is_signed_v<T> ? " signed" : " unsigned"));
  EXPECT_EQ(element_of<T>(Json(Limits::max())), Limits::max());
  EXPECT_EQ(element_of<T>(Json(Limits::min())), Limits::min());
  EXPECT_EQ(element_of<T>(Json(7)), T{7});
  EXPECT_EQ(element_of<T>(Json(7.0)), T{7}) << "a whole number may be written as a float";
  EXPECT_FALSE(element_of<T>(Json(7.5)));
  EXPECT_FALSE(element_of<T>(Json(1e300)));
  EXPECT_FALSE(element_of<T>(Json(-1e300)));
  EXPECT_FALSE(element_of<T>(Json(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_FALSE(element_of<T>(Json(std::ldexp(1.0, Limits::digits)))) << "one more than the largest";
  EXPECT_FALSE(element_of<T>(Json("7")));
  EXPECT_FALSE(element_of<T>(Json(nullptr)));
  if constexpr (!std::is_signed_v<T>) {
    EXPECT_FALSE(element_of<T>(Json(-1)));
    EXPECT_FALSE(element_of<T>(Json(-1.0)));
  } else {
    EXPECT_EQ(element_of<T>(Json(-std::ldexp(1.0, Limits::digits))), Limits::min()) << "as a float";
  }
}

TEST(element_of, a_whole_type_is_only_what_is_exactly_that) {
  check_whole_numbers<uint8_t>();
  check_whole_numbers<int8_t>();
  check_whole_numbers<uint16_t>();
  check_whole_numbers<int16_t>();
  check_whole_numbers<uint32_t>();
  check_whole_numbers<int32_t>();
  check_whole_numbers<uint64_t>();
  check_whole_numbers<int64_t>();
}

TEST(element_of, a_floating_type_is_the_nearest_value) {
  EXPECT_EQ(element_of<float>(Json(0.1)), 0.1f);
  EXPECT_EQ(element_of<double>(Json(0.1)), 0.1);
  EXPECT_EQ(element_of<float>(Json(16'777'217)), 16'777'216.0f);
  EXPECT_EQ(element_of<Half>(Json(0.1))->bits, 0x2e66);
  EXPECT_EQ(element_of<Half>(Json(1e9))->bits, 0x7c00) << "infinity";
  EXPECT_FALSE(element_of<float>(Json("0.1")));
}

TEST(element_of, bool_is_true_or_false_or_one_or_zero) {
  EXPECT_EQ(element_of<bool>(Json(true)), true);
  EXPECT_EQ(element_of<bool>(Json(0)), false);
  EXPECT_EQ(element_of<bool>(Json(1.0)), true);
  for (const Json& other : {Json(2), Json(-1), Json(0.5), Json("true"), Json()}) EXPECT_FALSE(element_of<bool>(other));
}

TEST(number_or_word, knows_three_words_for_what_json_has_no_number_for) {
  EXPECT_EQ(number_or_word(Json(-3)), -3.0);
  EXPECT_EQ(number_or_word(Json("inf")), std::numeric_limits<double>::infinity());
  EXPECT_EQ(number_or_word(Json("-inf")), -std::numeric_limits<double>::infinity());
  ASSERT_TRUE(number_or_word(Json("nan")));
  EXPECT_NE(*number_or_word(Json("nan")), *number_or_word(Json("nan")));
  for (const Json& other : {Json("NaN"), Json("+inf"), Json("3"), Json(true), Json(), Json::array({1})})
    EXPECT_FALSE(number_or_word(other)) << other.dump();
}

}  // namespace
}  // namespace forebay
