#include "format/table/row_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "format/table/compare.h"
#include "format/table/iso_time.h"

namespace forebay {
namespace {

Field number_field(DType dtype) {
  Field field;
  field.name = "x";
  field.dtype = dtype;
  return field;
}

Field text_field() {
  Field field;
  field.name = "x";
  field.kind = FieldKind::kText;
  return field;
}

template <typename T>
ColumnValues column_of(const std::vector<T>& values) {
  ColumnValues column;
  column.values = Buffer::allocate(values.size() * sizeof(T));
  std::memcpy(column.values.data(), values.data(), values.size() * sizeof(T));
  return column;
}

template <typename T>
std::vector<uint8_t> matches(RowCondition condition, DType dtype, const std::vector<T>& values) {
  EXPECT_TRUE(prepare(condition, number_field(dtype), {}).ok());
  std::vector<uint8_t> result(values.size(), 1);
  match_rows(condition, number_field(dtype), column_of(values), {}, result);
  return result;
}

using Flags = std::vector<uint8_t>;

}  // namespace

TEST(CompareExact, integers_and_floats_are_compared_as_the_real_numbers_they_are) {
  constexpr int64_t kBig = (int64_t{1} << 53) + 1;  // its nearest double is one less
  EXPECT_TRUE(compare_exact(kBig, 0x1p53) > 0);
  EXPECT_TRUE(compare_exact(kBig - 1, 0x1p53) == 0);
  EXPECT_TRUE(compare_exact(int64_t{INT64_MAX}, 0x1p63) < 0);
  EXPECT_TRUE(compare_exact(int64_t{INT64_MIN}, -0x1p63) == 0);
  EXPECT_TRUE(compare_exact(uint64_t{UINT64_MAX}, 0x1p64) < 0);
  EXPECT_TRUE(compare_exact(uint64_t{UINT64_MAX}, int64_t{-1}) > 0);
  EXPECT_TRUE(compare_exact(int64_t{-3}, -2.5) < 0);
  EXPECT_TRUE(compare_exact(int64_t{-2}, -2.5) > 0);
  EXPECT_TRUE(compare_exact(2.5, int64_t{2}) > 0);
  EXPECT_TRUE(compare_exact(int64_t{0}, -0.0) == 0);
  EXPECT_TRUE(compare_exact(int64_t{5}, std::numeric_limits<double>::infinity()) < 0);
  EXPECT_TRUE(compare_exact(int64_t{5}, std::nan("")) == std::partial_ordering::unordered);
}

TEST(IsoTime, dates_and_times_become_ticks_of_the_column) {
  const auto ticks = [](const char* text, int64_t per_day) {
    return std::get<int64_t>(parse_iso_time(text, per_day).value());
  };
  EXPECT_EQ(ticks("1970-01-01", 1), 0);
  EXPECT_EQ(ticks("2026-01-31", 1), 20484);
  EXPECT_EQ(ticks("1969-12-31", 1), -1);
  EXPECT_EQ(ticks("1970-01-02T00:00:01", 86'400), 86'401);
  EXPECT_EQ(ticks("1970-01-01 00:00:00.25Z", 86'400'000), 250);
  EXPECT_EQ(ticks("1970-01-01T02:00+02:00", 86'400), 0);
  EXPECT_EQ(ticks("2262-04-11T23:47:16.854775807", 86'400'000'000'000), INT64_MAX);
  EXPECT_EQ(std::get<double>(parse_iso_time("1970-01-02T12:00:00", 1).value()), 1.5) << "between two days";
  for (const char* wrong : {"", "2026", "2026-13-01", "2026-02-29", "2026-01-31x", "2026-01-31T25:00:00",
                            "2026-01-31T10", "20260131", "-026-01-31", "2026-01-31T10:00:00.", "2026-01-31T10:00:00+2"})
    EXPECT_FALSE(parse_iso_time(wrong, 1)) << wrong;
}

TEST(RowFilter, every_comparison_does_what_its_sign_says) {
  const std::vector<int64_t> values = {1, 2, 3};
  const auto of = [&](CompareOp op, std::vector<FilterValue> against) {
    return matches<int64_t>({"x", op, std::move(against)}, DType::kInt64, values);
  };
  EXPECT_EQ(of(CompareOp::kEqual, {int64_t{2}}), (Flags{0, 1, 0}));
  EXPECT_EQ(of(CompareOp::kNotEqual, {int64_t{2}}), (Flags{1, 0, 1}));
  EXPECT_EQ(of(CompareOp::kLess, {2.5}), (Flags{1, 1, 0}));
  EXPECT_EQ(of(CompareOp::kLessEqual, {int64_t{2}}), (Flags{1, 1, 0}));
  EXPECT_EQ(of(CompareOp::kGreater, {2.0}), (Flags{0, 0, 1}));
  EXPECT_EQ(of(CompareOp::kGreaterEqual, {1.5}), (Flags{0, 1, 1}));
  EXPECT_EQ(of(CompareOp::kIn, {int64_t{3}, 1.0, int64_t{3}, 2.5}), (Flags{1, 0, 1}));
  EXPECT_EQ(of(CompareOp::kNotIn, {int64_t{3}, 1.0}), (Flags{0, 1, 0}));
  EXPECT_EQ(of(CompareOp::kIn, {}), (Flags{0, 0, 0}));
  EXPECT_EQ(of(CompareOp::kNotIn, {}), (Flags{1, 1, 1}));
}

TEST(RowFilter, nan_matches_only_what_says_not) {
  const std::vector<float> values = {1.0F, std::nanf("")};
  const auto of = [&](CompareOp op) { return matches<float>({"x", op, {1.0}}, DType::kFloat32, values); };
  EXPECT_EQ(of(CompareOp::kEqual), (Flags{1, 0}));
  EXPECT_EQ(of(CompareOp::kGreaterEqual), (Flags{1, 0}));
  EXPECT_EQ(of(CompareOp::kNotEqual), (Flags{0, 1}));
  EXPECT_EQ(of(CompareOp::kNotIn), (Flags{0, 1}));
}

TEST(RowFilter, values_of_another_kind_are_refused_with_the_columns_name) {
  const auto refused = [](RowCondition condition, const Field& field, std::optional<int64_t> ticks, const char* part) {
    const Status status = prepare(condition, field, ticks);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("x"), std::string::npos);
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  refused({"x", CompareOp::kEqual, {"a"}}, number_field(DType::kInt64), {}, "give a number");
  refused({"x", CompareOp::kEqual, {true}}, number_field(DType::kInt64), {}, "give a number");
  refused({"x", CompareOp::kEqual, {int64_t{1}}}, text_field(), {}, "give a text");
  refused({"x", CompareOp::kEqual, {int64_t{1}}}, number_field(DType::kBool), {}, "True or False");
  refused({"x", CompareOp::kLess, {true}}, number_field(DType::kBool), {}, "use == or !=");
  refused({"x", CompareOp::kEqual, {std::nan("")}}, number_field(DType::kFloat32), {}, "NaN");
  refused({"x", CompareOp::kEqual, {"soon"}}, number_field(DType::kInt32), 1, "2026-01-31");
  Field list = number_field(DType::kInt64);
  list.shape = Shape{Shape::kUnknown};
  refused({"x", CompareOp::kEqual, {int64_t{1}}}, list, {}, "several values");
}

// Decisions by statistics must equal the result of reading the rows.
TEST(RowFilter, statistics_never_contradict_the_rows) {
  std::mt19937 random(7);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int none = 0, all = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<double> values;
    std::vector<uint8_t> valid;
    FieldBounds bounds;
    bounds.nulls = 0;
    for (int i = 0, n = 1 + pick(4); i < n; ++i) {
      const bool null = pick(6) == 0, nan = pick(8) == 0;
      values.push_back(nan ? std::nan("") : pick(5));
      valid.push_back(null ? 0 : 1);
      *bounds.nulls += null ? 1 : 0;
      if (null || nan) continue;
      const auto* min = std::get_if<double>(&bounds.min);
      const auto* max = std::get_if<double>(&bounds.max);
      bounds.min = min ? std::min(*min, values.back()) : values.back();
      bounds.max = max ? std::max(*max, values.back()) : values.back();
    }
    if (pick(8) == 0) bounds.nulls.reset();
    RowCondition condition{"x", static_cast<CompareOp>(pick(8)), {}};
    const bool several = condition.op == CompareOp::kIn || condition.op == CompareOp::kNotIn;
    for (int i = 0, n = several ? pick(3) : 1; i < n; ++i) {
      if (pick(2)) {
        condition.values.emplace_back(int64_t{pick(5)});
      } else {
        condition.values.emplace_back(pick(10) * 0.5);
      }
    }
    ASSERT_TRUE(prepare(condition, number_field(DType::kFloat64), {}).ok());
    Flags rows(values.size(), 1);
    match_rows(condition, number_field(DType::kFloat64), column_of(values), valid, rows);
    const auto kept = std::count(rows.begin(), rows.end(), 1);
    const Matches decided =
        match_bounds(condition, number_field(DType::kFloat64), bounds, static_cast<int64_t>(values.size()));
    const bool right = decided == Matches::kSome || kept == (decided == Matches::kAll ? std::ssize(values) : 0);
    ASSERT_TRUE(right) << "round " << round;
    none += decided == Matches::kNone;
    all += decided == Matches::kAll;
  }
  EXPECT_GT(none, 1000) << "statistics are of use";
  EXPECT_GT(all, 300);
}

TEST(RowFilter, text_is_compared_by_bytes) {
  RowCondition condition{"x", CompareOp::kGreaterEqual, {"b"}};
  ASSERT_TRUE(prepare(condition, text_field(), {}).ok());
  ColumnValues texts = column_of<char>({'a', 'b', 'c', '\xc3', '\xa9'});
  texts.offsets = column_of<int64_t>({0, 1, 1, 2, 5}).values;
  Flags rows(4, 1);
  match_rows(condition, text_field(), texts, {}, rows);
  EXPECT_EQ(rows, (Flags{0, 0, 1, 1})) << "\"a\", \"\", \"b\", \"cé\"";
  FieldBounds bounds{std::string("a"), std::string("az"), 0};
  EXPECT_EQ(match_bounds(condition, text_field(), bounds, 4), Matches::kNone);
}

}  // namespace forebay
