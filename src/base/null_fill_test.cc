// Tests which values can replace nulls of which column. Compares with arithmetic in 128 bits at
// every edge of every type.
#include <cmath>
#include <limits>

#include <cstring>

#include <gtest/gtest.h>

#include "base/convert.h"
#include "base/null_fill.h"

namespace forebay {
namespace {

using NullValue = NullPolicy::Value;

NullColumn leaf_of(DType dtype) { return {"price", {}, {FieldKind::kTensor, dtype, {}}}; }
NullColumn strings_of(FieldKind kind) { return {"title", {}, {kind, DType::kUint8, {}}}; }

struct Whole {
  DType dtype;
  __int128 low, high;
};
constexpr __int128 kOne = 1;
const Whole kWholes[] = {
    {DType::kBool, 0, 1},
    {DType::kUint8, 0, 255},
    {DType::kInt8, -128, 127},
    {DType::kUint16, 0, 65'535},
    {DType::kInt16, -32'768, 32'767},
    {DType::kUint32, 0, (kOne << 32) - 1},
    {DType::kInt32, -(kOne << 31), (kOne << 31) - 1},
    {DType::kUint64, 0, (kOne << 64) - 1},
    {DType::kInt64, -(kOne << 63), (kOne << 63) - 1},
};

/// The number that the bytes stand for, decoded without the code under test.
__int128 number_of(const std::string& bytes, bool is_signed) {
  __int128 number = is_signed && (bytes.back() & 0x80) != 0 ? -1 : 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number * 256 + static_cast<uint8_t>(bytes[i]);
  return number;
}

void expect_whole(const Whole& type, const NullValue& value, bool fits, __int128 number) {
  const auto bytes = null_bytes(value, leaf_of(type.dtype));
  ASSERT_EQ(bytes.ok(), fits) << dtype_name(type.dtype) << " " << static_cast<double>(number);
  if (!fits) {
    EXPECT_EQ(bytes.status().code(), Code::kInvalidArgument);
    EXPECT_NE(bytes.status().message().find("'price', which is " + std::string(dtype_name(type.dtype))),
              std::string::npos);
    return;
  }
  ASSERT_EQ((**bytes).size(), dtype_size(type.dtype));
  EXPECT_TRUE(number_of(**bytes, type.low < 0) == number) << dtype_name(type.dtype);
}

TEST(NullValues, WholeNumbersFitWhereTheTypeHoldsThem) {
  for (const Whole& type : kWholes) {
    for (int64_t number = -300; number <= 300; ++number)
      expect_whole(type, number, number >= type.low && number <= type.high, number);
    for (const __int128 edge : {type.low, type.high, __int128{0}}) {
      for (const __int128 number : {edge - 1, edge, edge + 1}) {
        if (number < INT64_MIN || number > INT64_MAX) continue;
        expect_whole(type, static_cast<int64_t>(number), number >= type.low && number <= type.high, number);
      }
    }
  }
}

TEST(NullValues, FloatsFitIntegersOnlyWhereTheyAreWholeAndInside) {
  for (const Whole& type : kWholes) {
    // Powers of two and their neighbours are the floats around the ends of every integer type.
    for (int bits = 0; bits <= 64; ++bits) {
      const double power = std::ldexp(1.0, bits);
      for (const double magnitude : {power, std::nextafter(power, 0.0), std::nextafter(power, 1e30)}) {
        for (const double number : {magnitude, -magnitude}) {
          const bool is_whole = number == std::floor(number);
          const auto exact = is_whole ? static_cast<__int128>(number) : __int128{0};
          expect_whole(type, number, is_whole && exact >= type.low && exact <= type.high, exact);
        }
      }
    }
    for (const double number : {0.5, -0.5, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, -1e300})
      expect_whole(type, number, false, 0);
  }
}

TEST(NullValues, NegativeZeroIsZeroForIntegers) {
  for (const Whole& type : kWholes) expect_whole(type, -0.0, true, 0);
}

TEST(NullValues, RealColumnsTakeWhatTheirWidthCanHold) {
  const auto fits = [](DType dtype, const NullValue& value) { return null_bytes(value, leaf_of(dtype)).ok(); };
  EXPECT_TRUE(fits(DType::kFloat16, 65504.0) && fits(DType::kFloat16, -65504.0));
  EXPECT_FALSE(fits(DType::kFloat16, 65505.0) || fits(DType::kFloat16, int64_t{-70'000}));
  EXPECT_TRUE(fits(DType::kFloat32, static_cast<double>(std::numeric_limits<float>::max())));
  EXPECT_FALSE(fits(DType::kFloat32, 3.5e38));
  EXPECT_TRUE(fits(DType::kFloat64, std::numeric_limits<double>::max()));
  for (const DType dtype : {DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    EXPECT_TRUE(fits(dtype, std::nan(""))) << "NaN is a value of the type";
    EXPECT_TRUE(fits(dtype, HUGE_VAL)) << "infinity as well: it was asked for";
    EXPECT_FALSE(fits(dtype, INT64_MAX)) << "a whole number stands for itself";
    EXPECT_TRUE(fits(dtype, int64_t{2048}));
  }
}

TEST(NullValues, RealColumnsGetTheNearestValue) {
  const auto half = null_bytes(0.1, leaf_of(DType::kFloat16));
  uint16_t bits = 0;
  std::memcpy(&bits, (**half).data(), sizeof bits);
  EXPECT_EQ(bits, 0x2e66) << "0.0999755859375";
  const auto single = null_bytes(0.1, leaf_of(DType::kFloat32));
  float value = 0;
  std::memcpy(&value, (**single).data(), sizeof value);
  EXPECT_EQ(value, 0.1f);
}

TEST(NullValues, OfAnotherKindIsNoneAndNoError) {
  const auto none = [](const NullValue& value, const NullColumn& leaf) {
    const auto bytes = null_bytes(value, leaf);
    return bytes.ok() && !bytes->has_value();
  };
  EXPECT_TRUE(none(std::string("x"), leaf_of(DType::kInt32)));
  EXPECT_TRUE(none(int64_t{1}, strings_of(FieldKind::kText)));
  EXPECT_TRUE(none(1.0, strings_of(FieldKind::kBytes)));
  EXPECT_TRUE(none(std::monostate(), leaf_of(DType::kInt32)));
  EXPECT_TRUE(none(std::monostate(), strings_of(FieldKind::kText)));
  EXPECT_TRUE(none(true, leaf_of(DType::kInt32))) << "True is a truth value, not 1";
  EXPECT_TRUE(none(true, strings_of(FieldKind::kText)));
}

TEST(NullValues, TruthValuesAreForColumnsOfThem) {
  EXPECT_EQ(**null_bytes(true, leaf_of(DType::kBool)), std::string(1, '\1'));
  EXPECT_EQ(**null_bytes(false, leaf_of(DType::kBool)), std::string(1, '\0'));
}

TEST(NullValues, TextOfAColumnOfTextIsUtf8AndBytesAreAnything) {
  const std::string no_text = "caf\xe9";
  EXPECT_FALSE(null_bytes(no_text, strings_of(FieldKind::kText))->has_value());
  EXPECT_EQ(**null_bytes(no_text, strings_of(FieldKind::kBytes)), no_text);
  EXPECT_EQ(**null_bytes(std::string("café"), strings_of(FieldKind::kText)), "café");
  EXPECT_EQ(**null_bytes(std::string(), strings_of(FieldKind::kText)), "");
  const std::string with_zero("a\0b", 3);
  EXPECT_EQ(**null_bytes(with_zero, strings_of(FieldKind::kBytes)), with_zero);
}

}  // namespace
}  // namespace forebay
