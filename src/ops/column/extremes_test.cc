// Compares column operators with plain computations: values at the ends of every type, NaN,
// infinities, no rows, and odd shapes.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/convert.h"
#include "ops/column/column_test_support.h"
#include "ops/definition/element_types.h"

namespace forebay::ops_test {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
const double kNone = std::numeric_limits<double>::quiet_NaN();

template <typename T>
std::vector<T> extremes() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0, 1, 2, 100, Limits::max(), static_cast<T>(Limits::max() - 1), Limits::lowest()};
  if constexpr (std::is_floating_point_v<T>) {
    for (const T value : {T(-0.0), T(0.5), T(-0.5), T(1.5), T(2.5), T(-1.5), Limits::min(), Limits::denorm_min(),
                          static_cast<T>(kEndless), static_cast<T>(-kEndless), static_cast<T>(kNone)})
      values.push_back(value);
  } else if constexpr (std::is_signed_v<T>) {
    values.push_back(-1);
    values.push_back(static_cast<T>(Limits::lowest() + 1));
  }
  return values;
}

/// C++ leaves conversions of values that do not fit undefined. The reference compares with the
/// limits in long double, which holds all of them.
template <typename To, typename From>
To saturated(From value) {
  const auto wide = static_cast<long double>(value);
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else {
    if (std::isnan(wide)) return 0;
    const long double cut = std::trunc(wide);
    if (cut <= static_cast<long double>(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
    if (cut >= static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(cut);
  }
}

template <typename To, typename From>
void check_cast(DType from, DType to) {
  const std::vector<From> values = extremes<From>();
  Table table(static_cast<int64_t>(values.size()));
  table.add<From>("x", from, values);
  const Columns made =
      run_columns(table.columns(),
                  {step("cast", {{"dtype", std::string(dtype_name(to))}, {"field", "x"}, {"errors", "saturate"}})});
  const std::vector<To> got = values_of<To>(made, "x");
  for (size_t i = 0; i < values.size(); ++i) {
    const To expected = saturated<To>(values[i]);
    const bool both_nan = got[i] != got[i] && expected != expected;
    EXPECT_TRUE(both_nan || got[i] == expected) << dtype_name(from) << " " << +values[i] << " to " << dtype_name(to)
                                                << ": " << +got[i] << ", not " << +expected;
  }
}

template <typename From>
void check_casts(DType from) {
  check_cast<uint8_t, From>(from, DType::kUint8);
  check_cast<int8_t, From>(from, DType::kInt8);
  check_cast<uint16_t, From>(from, DType::kUint16);
  check_cast<int16_t, From>(from, DType::kInt16);
  check_cast<uint32_t, From>(from, DType::kUint32);
  check_cast<int32_t, From>(from, DType::kInt32);
  check_cast<uint64_t, From>(from, DType::kUint64);
  check_cast<int64_t, From>(from, DType::kInt64);
  check_cast<float, From>(from, DType::kFloat32);
  check_cast<double, From>(from, DType::kFloat64);
}

TEST(extremes, casts_between_all_types_saturate_as_reckoned_in_long_double) {
  check_casts<uint8_t>(DType::kUint8);
  check_casts<int8_t>(DType::kInt8);
  check_casts<uint16_t>(DType::kUint16);
  check_casts<int16_t>(DType::kInt16);
  check_casts<uint32_t>(DType::kUint32);
  check_casts<int32_t>(DType::kInt32);
  check_casts<uint64_t>(DType::kUint64);
  check_casts<int64_t>(DType::kInt64);
  check_casts<float>(DType::kFloat32);
  check_casts<double>(DType::kFloat64);
}

template <typename To, typename From>
void check_bad_rows(DType from, DType to) {
  const std::vector<From> values = extremes<From>();
  Table table(static_cast<int64_t>(values.size()));
  table.add<From>("x", from, values);
  const Columns made =
      run_columns(table.columns(), {step("cast", {{"dtype", std::string(dtype_name(to))}, {"field", "x"}})});
  for (size_t i = 0; i < values.size(); ++i) {
    const auto cut = std::trunc(static_cast<long double>(values[i]));
    const bool fits = !std::isnan(cut) && cut >= static_cast<long double>(std::numeric_limits<To>::lowest()) &&
                      cut <= static_cast<long double>(std::numeric_limits<To>::max());
    EXPECT_EQ(made.bad_rows != nullptr && made.bad_rows->contains(static_cast<int64_t>(i)), !fits)
        << dtype_name(from) << " " << +values[i] << " to " << dtype_name(to);
  }
}

TEST(extremes, casts_make_exactly_those_rows_bad_that_do_not_fit) {
  check_bad_rows<int8_t, uint8_t>(DType::kUint8, DType::kInt8);
  check_bad_rows<uint8_t, int8_t>(DType::kInt8, DType::kUint8);
  check_bad_rows<uint32_t, int64_t>(DType::kInt64, DType::kUint32);
  check_bad_rows<int64_t, uint64_t>(DType::kUint64, DType::kInt64);
  check_bad_rows<uint64_t, int64_t>(DType::kInt64, DType::kUint64);
  check_bad_rows<int32_t, float>(DType::kFloat32, DType::kInt32);
  check_bad_rows<int64_t, float>(DType::kFloat32, DType::kInt64);
  check_bad_rows<uint64_t, double>(DType::kFloat64, DType::kUint64);
  check_bad_rows<int64_t, double>(DType::kFloat64, DType::kInt64);
  check_bad_rows<uint16_t, double>(DType::kFloat64, DType::kUint16);
}

template <typename T>
void check_clip(DType dtype, double low, double high) {
  const std::vector<T> values = extremes<T>();
  Table table(static_cast<int64_t>(values.size()));
  table.add<T>("x", dtype, values);
  const Columns made = run_columns(table.columns(), {step("clip", {{"min", low}, {"max", high}, {"field", "x"}})});
  const std::vector<T> got = values_of<T>(made, "x");
  for (size_t i = 0; i < values.size(); ++i) {
    const auto wide = static_cast<long double>(values[i]);
    if (std::isnan(wide)) {
      EXPECT_TRUE(got[i] != got[i]) << "NaN is between no limits";
      continue;
    }
    // The limits rounded inward to values that the type can hold.
    const auto least = std::is_integral_v<T> ? std::ceil(static_cast<long double>(low))
                                             : static_cast<long double>(static_cast<T>(low));
    const auto most = std::is_integral_v<T> ? std::floor(static_cast<long double>(high))
                                            : static_cast<long double>(static_cast<T>(high));
    EXPECT_EQ(static_cast<long double>(got[i]), std::min(std::max(wide, least), most))
        << dtype_name(dtype) << " " << +values[i];
  }
}

TEST(extremes, clip_is_the_nearest_value_inside_of_the_limits) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{{0, 1}, {1, 1}, {0, 100}, {2, 99}}) {
    check_clip<uint8_t>(DType::kUint8, low, high);
    check_clip<int8_t>(DType::kInt8, low, high);
    check_clip<uint16_t>(DType::kUint16, low, high);
    check_clip<int16_t>(DType::kInt16, low, high);
    check_clip<uint32_t>(DType::kUint32, low, high);
    check_clip<int32_t>(DType::kInt32, low, high);
    check_clip<uint64_t>(DType::kUint64, low, high);
    check_clip<int64_t>(DType::kInt64, low, high);
    check_clip<float>(DType::kFloat32, low, high);
    check_clip<double>(DType::kFloat64, low, high);
  }
  check_clip<float>(DType::kFloat32, -0.25, 0.75);
  check_clip<double>(DType::kFloat64, -1e300, 1e300);
}

// No rows, and rows without elements.

TEST(extremes, of_no_rows_is_no_rows) {
  Table table(0);
  table.add<float>("x", DType::kFloat32, {})
      .add<float>("y", DType::kFloat32, {})
      .add_texts("t", {})
      .add_lists<int64_t>("l", DType::kInt64, {});
  const std::vector<OpSpec> steps = {
      step("cast", {{"dtype", "int32"}, {"field", "x"}}),
      step("normalize", {{"mean", 0}, {"std", 1}, {"field", "x"}}),
      step("clip", {{"min", 0}, {"field", {"x", "l"}}}),
      step("log1p", {{"field", "x"}}),
      step("hash_bucket", {{"buckets", 5}, {"field", {"t", "l"}}}),
      step("stack", {{"fields", {"x", "y"}}, {"name", "z"}}),
      step("pad", {{"field", "l"}, {"length", 3}}),
  };
  for (const OpSpec& spec : steps) EXPECT_EQ(run_columns(table.columns(), {spec}).rows, 0) << spec.name;
}

TEST(extremes, of_empty_lists_and_texts_is_empty) {
  Table table(3);
  table.add_lists<float>("l", DType::kFloat32, {{}, {}, {}}, 2).add_texts("t", {"", "", ""}, FieldKind::kText, 5);
  const Columns cast = run_columns(table.columns(), {step("cast", {{"dtype", "uint8"}, {"field", "l"}})});
  EXPECT_EQ(offsets_of(cast, "l"), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_TRUE(values_of<float>(run_columns(table.columns(), {step("log1p", {{"field", "l"}})}), "l").empty());
  const auto buckets = values_of<int64_t>(
      run_columns(table.columns(), {step("hash_bucket", {{"buckets", 1'000'000}, {"field", "t"}})}), "t");
  EXPECT_EQ(buckets[0], buckets[2]) << "one empty text is like another";
}

TEST(extremes, tensors_of_a_length_of_zero_are_kept) {
  Table table(3);
  table.add<int16_t>("e", DType::kInt16, {}, {0}).add<int16_t>("f", DType::kInt16, {}, {0, 4});
  for (const char* field : {"e", "f"}) {
    const Columns made = run_columns(table.columns(), {step("cast", {{"dtype", "float64"}, {"field", field}})});
    EXPECT_EQ(made.schema[*made.schema.find(field)].dtype, DType::kFloat64);
    EXPECT_TRUE(values_of<double>(made, field).empty());
  }
}

TEST(extremes, one_bucket_holds_everything_and_no_bucket_is_beyond_the_last) {
  Table table(6);
  table.add<int64_t>("i", DType::kInt64, {INT64_MIN, -1, 0, 1, INT64_MAX, 7})
      .add_texts("t", {"", "a", std::string(100'000, 'x'), std::string("\0\0", 2), "é", "\xff"}, FieldKind::kBytes);
  for (const int64_t buckets : {int64_t{1}, int64_t{2}, int64_t{1000}, INT64_MAX}) {
    const Columns made =
        run_columns(table.columns(), {step("hash_bucket", {{"buckets", buckets}, {"field", {"i", "t"}}})});
    for (const char* field : {"i", "t"}) {
      for (const int64_t bucket : values_of<int64_t>(made, field)) {
        EXPECT_GE(bucket, 0);
        EXPECT_LT(bucket, buckets);
      }
    }
  }
}

TEST(extremes, a_number_has_one_bucket_whatever_type_holds_it) {
  Table table(3);
  table.add<uint8_t>("u8", DType::kUint8, {0, 1, 127})
      .add<int8_t>("i8", DType::kInt8, {0, 1, 127})
      .add<uint32_t>("u32", DType::kUint32, {0, 1, 127})
      .add<int64_t>("i64", DType::kInt64, {0, 1, 127});
  const Columns made = run_columns(
      table.columns(), {step("hash_bucket", {{"buckets", 1 << 30}, {"field", {"u8", "i8", "u32", "i64"}}})});
  for (const char* field : {"u8", "i8", "u32"})
    EXPECT_EQ(values_of<int64_t>(made, field), values_of<int64_t>(made, "i64")) << field;
}

// Padding compared with a plain computation.

TEST(pad, of_rows_of_one_length_fills_with_the_value_in_any_type) {
  std::mt19937 random(3);
  for (const DType dtype :
       {DType::kUint8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64}) {
    for (const int64_t had : {0, 1, 5}) {
      for (const int64_t length : {1, 5, 9}) {
        if (had > length) continue;
        SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(had) + " to " + std::to_string(length));
        with_element(dtype, [&](auto type) {
          using T = decltype(type);
          if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            std::vector<T> values, expected;
            for (int64_t row = 0; row < 4; ++row) {
              for (int64_t i = 0; i < length; ++i) {
                const T value = static_cast<T>(random() % 100);
                if (i < had) values.push_back(value);
                expected.push_back(i < had ? value : T{7});
              }
            }
            Table table(4);
            table.add<T>("x", dtype, values, {had});
            const Columns made =
                run_columns(table.columns(), {step("pad", {{"field", "x"}, {"value", 7}, {"length", length}})});
            EXPECT_EQ(values_of<T>(made, "x"), expected);
          }
        });
      }
    }
  }
}

TEST(pad, values_that_a_type_cannot_hold_are_refused_at_both_ends) {
  const auto refused = [](DType dtype, const Json& value) {
    return told(Schema({tensor_field("x", dtype, {3})}),
                {step("pad", {{"field", "x"}, {"value", value}, {"length", 5}})}) != "";
  };
  EXPECT_TRUE(refused(DType::kUint8, 256) && refused(DType::kUint8, -1) && refused(DType::kUint8, 0.5));
  EXPECT_FALSE(refused(DType::kUint8, 255) || refused(DType::kUint8, 0));
  EXPECT_TRUE(refused(DType::kInt8, 128) && refused(DType::kInt8, -129));
  EXPECT_FALSE(refused(DType::kInt8, 127) || refused(DType::kInt8, -128));
  EXPECT_TRUE(refused(DType::kInt64, 0x1p63) && refused(DType::kUint64, 0x1p64) && refused(DType::kInt64, "nan"));
  EXPECT_FALSE(refused(DType::kFloat32, "nan") || refused(DType::kFloat16, "-inf") || refused(DType::kFloat64, 1e300));
  EXPECT_TRUE(refused(DType::kBool, 2));
  EXPECT_FALSE(refused(DType::kBool, 1));
}

TEST(pad, lengths_whose_bytes_no_number_holds_are_refused) {
  const auto text = [](int64_t length) {
    return told(Schema({tensor_field("x", DType::kFloat64, {4})}), {step("pad", {{"field", "x"}, {"length", length}})});
  };
  EXPECT_EQ(text(INT32_MAX), "");
  for (const int64_t length : {int64_t{INT32_MAX} + 1, int64_t{1} << 61, int64_t{1} << 62, INT64_MAX})
    EXPECT_EQ(text(length), "length is " + std::to_string(length) + " | give a length of at most 2147483647\n");
}

// Memory is reserved before it is allocated.

TEST(column_ops, ask_for_what_they_make_and_take_nothing_where_they_are_refused) {
  Table table(1000);
  table.add<int64_t>("x", DType::kInt64, std::vector<int64_t>(1000, 3))
      .add<int64_t>("y", DType::kInt64, std::vector<int64_t>(1000, 4));
  const std::pair<OpSpec, uint64_t> cases[] = {
      {step("cast", {{"dtype", "float32"}, {"field", "x"}}), 4000},
      {step("normalize", {{"mean", 0}, {"std", 1}, {"field", "x"}}), 4000},
      {step("clip", {{"min", 4}, {"field", "x"}}), 8000},
      {step("log1p", {{"field", "x"}}), 4000},
      {step("hash_bucket", {{"buckets", 7}, {"field", "x"}}), 8000},
      {step("stack", {{"fields", {"x", "y"}}, {"name", "z"}}), 16'000},
  };
  for (const auto& [spec, bytes] : cases) {
    SCOPED_TRACE(spec.name);
    Columns columns = table.columns();
    const auto compiled = op(spec.name).compile_columns(spec, columns.schema);
    ASSERT_TRUE(compiled.ok() && *compiled);
    WorkMemory little(bytes - 1);
    const Status refused = (*compiled)->apply(columns, little);
    ASSERT_EQ(refused.code(), Code::kOutOfBudget);
    EXPECT_GE(refused.bytes_needed(), bytes);
    WorkMemory enough(refused.bytes_needed());
    Columns again = table.columns();
    EXPECT_TRUE((*compiled)->apply(again, enough).ok()) << "the figure is enough";
  }
}

}  // namespace
}  // namespace forebay::ops_test
