#include "stream/numbers.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "base/convert.h"

namespace forebay {
namespace {

template <typename T>
std::optional<T> read(DType dtype, std::string_view text) {
  std::array<uint8_t, sizeof(T)> bytes{};
  if (!number_from_text(dtype, text, bytes.data())) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <typename From, typename To>
std::vector<To> converted(DType from, std::vector<From> in, DType to, size_t good) {
  std::vector<To> out(in.size());
  EXPECT_EQ(convert_numbers(from, reinterpret_cast<const uint8_t*>(in.data()), in.size(), to,
                            reinterpret_cast<uint8_t*>(out.data())),
            good);
  out.resize(good);
  return out;
}

TEST(NumberFromText, whole_numbers_are_read_up_to_the_limits_of_their_type) {
  EXPECT_EQ(read<int8_t>(DType::kInt8, "-128"), -128);
  EXPECT_EQ(read<int8_t>(DType::kInt8, "128"), std::nullopt);
  EXPECT_EQ(read<uint8_t>(DType::kUint8, "255"), 255);
  EXPECT_EQ(read<uint8_t>(DType::kUint8, "256"), std::nullopt);
  EXPECT_EQ(read<uint8_t>(DType::kUint8, "-1"), std::nullopt);
  EXPECT_EQ(read<int16_t>(DType::kInt16, "-32768"), -32768);
  EXPECT_EQ(read<uint16_t>(DType::kUint16, "65536"), std::nullopt);
  EXPECT_EQ(read<int32_t>(DType::kInt32, "2147483647"), 2147483647);
  EXPECT_EQ(read<uint32_t>(DType::kUint32, "4294967295"), 4294967295u);
  EXPECT_EQ(read<int64_t>(DType::kInt64, "9223372036854775807"), INT64_MAX);
  EXPECT_EQ(read<int64_t>(DType::kInt64, "9223372036854775808"), std::nullopt);
  EXPECT_EQ(read<uint64_t>(DType::kUint64, "18446744073709551615"), UINT64_MAX);
}

TEST(NumberFromText, what_is_no_number_from_its_first_to_its_last_character_is_none) {
  for (const std::string_view text : {"", " 1", "1 ", "+1", "1.0", "0x1", "1e3", "one", "1,0"})
    EXPECT_EQ(read<int64_t>(DType::kInt64, text), std::nullopt) << text;
  for (const std::string_view text : {"", " 1", "1 ", "+1", "0x1p3", "1.0.0", "1,0"})
    EXPECT_EQ(read<double>(DType::kFloat64, text), std::nullopt) << text;
}

TEST(NumberFromText, floats_of_each_width_are_rounded_to_nearest) {
  EXPECT_EQ(read<double>(DType::kFloat64, "-1.5e-3"), -1.5e-3);
  EXPECT_EQ(read<float>(DType::kFloat32, "0.1"), 0.1f);
  EXPECT_TRUE(std::isinf(read<double>(DType::kFloat64, "inf").value()));
  EXPECT_EQ(read<uint16_t>(DType::kFloat16, "0.1"), float_to_half(0.1f));
  EXPECT_EQ(read<uint16_t>(DType::kBfloat16, "-3"), float_to_bfloat16(-3.0f));
  EXPECT_EQ(read<uint16_t>(DType::kFloat16, "x"), std::nullopt);
}

TEST(NumberFromText, a_bool_is_one_of_four_words) {
  for (const std::string_view text : {"true", "1"}) EXPECT_EQ(read<uint8_t>(DType::kBool, text), 1) << text;
  for (const std::string_view text : {"false", "0"}) EXPECT_EQ(read<uint8_t>(DType::kBool, text), 0) << text;
  for (const std::string_view text : {"", "True", "2", "yes", "00"})
    EXPECT_EQ(read<uint8_t>(DType::kBool, text), std::nullopt) << text;
}

TEST(ConvertNumbers, whole_numbers_stop_at_the_first_that_does_not_fit) {
  EXPECT_EQ((converted<int64_t, uint8_t>(DType::kInt64, {0, 255, 256, 1}, DType::kUint8, 2)),
            (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ((converted<int64_t, int8_t>(DType::kInt64, {-128, 127, -129}, DType::kInt8, 2)),
            (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ((converted<int64_t, uint64_t>(DType::kInt64, {5, -1}, DType::kUint64, 1)), std::vector<uint64_t>{5});
  EXPECT_EQ((converted<uint64_t, int64_t>(DType::kUint64, {5, UINT64_MAX}, DType::kInt64, 1)), std::vector<int64_t>{5});
  EXPECT_EQ((converted<int64_t, int32_t>(DType::kInt64, {}, DType::kInt32, 0)), std::vector<int32_t>{});
}

TEST(ConvertNumbers, whole_numbers_become_floats_and_floats_become_no_whole_numbers) {
  EXPECT_EQ((converted<int64_t, float>(DType::kInt64, {3, -4}, DType::kFloat32, 2)), (std::vector<float>{3, -4}));
  EXPECT_EQ((converted<int64_t, uint16_t>(DType::kInt64, {3}, DType::kFloat16, 1)),
            std::vector<uint16_t>{float_to_half(3)});
  EXPECT_EQ((converted<double, float>(DType::kFloat64, {0.1, 1e300}, DType::kFloat32, 2))[0], 0.1f);
  EXPECT_EQ((converted<double, uint16_t>(DType::kFloat64, {0.1}, DType::kBfloat16, 1)),
            std::vector<uint16_t>{float_to_bfloat16(0.1f)});
  EXPECT_EQ((converted<double, int64_t>(DType::kFloat64, {3}, DType::kInt64, 0)), std::vector<int64_t>{});
}

TEST(ConvertNumbers, bools_stay_bools) {
  EXPECT_EQ((converted<uint8_t, uint8_t>(DType::kBool, {0, 1, 1}, DType::kBool, 3)), (std::vector<uint8_t>{0, 1, 1}));
  EXPECT_EQ((converted<uint8_t, uint8_t>(DType::kBool, {0, 1}, DType::kUint8, 0)), std::vector<uint8_t>{});
}

TEST(ElementsAreValid, only_bools_can_be_wrong) {
  const std::array<uint8_t, 3> bytes{0, 1, 2};
  EXPECT_FALSE(elements_are_valid(DType::kBool, bytes));
  EXPECT_TRUE(elements_are_valid(DType::kBool, std::span(bytes).first(2)));
  EXPECT_TRUE(elements_are_valid(DType::kUint8, bytes));
}

}  // namespace
}  // namespace forebay
