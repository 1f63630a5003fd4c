#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/column/column_test_support.h"
#include "ops/column/series.h"

namespace forebay::ops_test {
namespace {

OpSpec aggregate(std::vector<std::string> functions, Json more = Json::object(), const char* field = "x") {
  Json args = {{"functions", std::move(functions)}, {"field", field}};
  args.update(more);
  return step("aggregate", std::move(args));
}

std::vector<double> random_series(size_t count) {
  std::mt19937 random(3);
  std::vector<double> series(count);
  for (double& value : series) value = static_cast<double>(random()) / 1e9 - 2;
  return series;
}

TEST(series, sums_are_added_up_in_eight_parts_in_order) {
  for (const size_t count : {0, 1, 7, 8, 9, 16, 23, 1000}) {
    const std::vector<double> series = random_series(count);
    double parts[8] = {};
    for (size_t i = 0; i < count; ++i) parts[i % 8] += series[i];
    const double sum =
        ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]));
    EXPECT_EQ(series_sum(series), sum) << count;
  }
}

TEST(series, of_one_and_the_same_number_nothing_deviates) {
  const std::vector<double> series(37, 0.5);
  EXPECT_EQ(series_number(SeriesFunction::kMean, series), 0.5);
  EXPECT_EQ(series_number(SeriesFunction::kStd, series), 0.0);
  EXPECT_EQ(series_number(SeriesFunction::kRms, series), 0.5);
  std::vector<double> sums(37, 1.0);
  series_cusum(series, sums.data());
  EXPECT_EQ(sums, std::vector<double>(37, 0.0));
  EXPECT_TRUE(std::isnan(series_mean({})));
}

TEST(series, the_smallest_and_the_largest_keep_all_bits_and_nan_wins) {
  const std::vector<int64_t> whole = {(int64_t{1} << 60) + 1, int64_t{1} << 60, -5};
  int64_t found = 0;
  const auto at = [](const auto& values) { return reinterpret_cast<const uint8_t*>(values.data()); };
  series_extreme(DType::kInt64, SeriesFunction::kMax, {at(whole), 3, 1}, reinterpret_cast<uint8_t*>(&found));
  EXPECT_EQ(found, (int64_t{1} << 60) + 1);
  series_extreme(DType::kInt64, SeriesFunction::kMin, {at(whole), 2, 1}, reinterpret_cast<uint8_t*>(&found));
  EXPECT_EQ(found, int64_t{1} << 60);
  const std::vector<float> floats = {1, std::numeric_limits<float>::quiet_NaN(), 3};
  float largest = 0;
  series_extreme(DType::kFloat32, SeriesFunction::kMax, {at(floats), 3, 1}, reinterpret_cast<uint8_t*>(&largest));
  EXPECT_TRUE(std::isnan(largest));
}

TEST(aggregate, makes_a_field_for_each_function_beside_the_series) {
  Table table(2);
  table.add<float>("x", DType::kFloat32, {1, 2, 3, 4, 0, 0, 0, 8}, {4});
  const Columns made = run_columns(table.columns(), {aggregate({"mean", "rms", "max", "sum"})});
  EXPECT_EQ(made.schema.to_string(),
            "x: float32 (4,), x_mean: float32 (), x_rms: float32 (), x_max: float32 (), x_sum: float32 ()");
  EXPECT_EQ(values_of<float>(made, "x_mean"), (std::vector<float>{2.5, 2}));
  EXPECT_EQ(values_of<float>(made, "x_rms"), (std::vector<float>{static_cast<float>(std::sqrt(7.5)), 4}));
  EXPECT_EQ(values_of<float>(made, "x_max"), (std::vector<float>{4, 8}));
  EXPECT_EQ(values_of<float>(made, "x_sum"), (std::vector<float>{10, 8}));
}

TEST(aggregate, goes_along_any_axis_in_pieces) {
  Table table(1);
  table.add<int16_t>("x", DType::kInt16, {1, 10, 2, 20, 3, 30, 4, 40}, {4, 2});
  const Columns along = run_columns(table.columns(), {aggregate({"mean"}, {{"every", 2}})});
  EXPECT_EQ(along.schema[1].to_string(), "x_mean: float64 (2, 2)");
  EXPECT_EQ(values_of<double>(along, "x_mean"), (std::vector<double>{1.5, 15, 3.5, 35}));
  const Columns across = run_columns(table.columns(), {aggregate({"min", "std"}, {{"axis", -1}})});
  EXPECT_EQ(values_of<int16_t>(across, "x_min"), (std::vector<int16_t>{1, 2, 3, 4}));
  EXPECT_EQ(values_of<double>(across, "x_std"), (std::vector<double>{4.5, 9, 13.5, 18}));
}

TEST(aggregate, the_running_sum_of_deviations_is_as_long_as_its_series_and_begins_anew_in_each_piece) {
  Table table(1);
  table.add<double>("x", DType::kFloat64, {1, 3, 10, 30}, {4});
  const Columns whole = run_columns(table.columns(), {aggregate({"cusum"})});
  EXPECT_EQ(values_of<double>(whole, "x_cusum"), (std::vector<double>{-10, -18, -19, 0}));
  const Columns pieces = run_columns(table.columns(), {aggregate({"cusum"}, {{"every", 2}})});
  EXPECT_EQ(pieces.schema[1].to_string(), "x_cusum: float64 (4,)");
  EXPECT_EQ(values_of<double>(pieces, "x_cusum"), (std::vector<double>{-1, 0, -10, 0}));
}

TEST(aggregate, multiplies_with_another_field_before) {
  Table table(2);
  table.add<float>("x", DType::kFloat32, {1, 2, 3, 4}, {2}).add<int32_t>("y", DType::kInt32, {5, 6, 7, 8}, {2});
  const Columns made = run_columns(table.columns(), {aggregate({"mean", "max"}, {{"times", "y"}})});
  EXPECT_EQ(values_of<double>(made, "x_y_mean"), (std::vector<double>{8.5, 26.5}));
  EXPECT_EQ(values_of<double>(made, "x_y_max"), (std::vector<double>{12, 32}));
}

TEST(aggregate, replaces_what_user_code_made_and_still_finds_the_other_field) {
  Table table(1);
  table.add<double>("x_y_mean", DType::kFloat64, {99})
      .add<double>("x", DType::kFloat64, {1, 2}, {2})
      .add<double>("z", DType::kFloat64, {3, 4}, {2})
      .add<double>("y", DType::kFloat64, {5, 7}, {2});
  Columns columns = table.columns();
  const OpSpec spec = aggregate({"mean"}, {{"times", "y"}, {"field", {"x", "z"}}});
  const auto compiled = op("aggregate").compile_columns(spec, columns.schema);
  ASSERT_TRUE(compiled.ok() && *compiled);
  WorkMemory memory;
  const Status status = (*compiled)->apply(columns, memory);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(columns.schema.size(), 5);
  EXPECT_EQ(values_of<double>(columns, "x_y_mean"), std::vector<double>{9.5});
  EXPECT_EQ(values_of<double>(columns, "z_y_mean"), std::vector<double>{21.5});
}

TEST(aggregate, takes_lists_as_a_whole_and_an_empty_one_has_no_largest) {
  Table table(3);
  table.add_lists<float>("x", DType::kFloat32, {{1, 3}, {}, {5}}, 4);
  const Columns sums = run_columns(table.columns(), {aggregate({"sum", "cusum"})});
  EXPECT_EQ(values_of<float>(sums, "x_sum"), (std::vector<float>{4, 0, 5}));
  EXPECT_EQ(sums.schema[2].to_string(), "x_cusum: float32 (?,)");
  EXPECT_EQ(values_of<float>(sums, "x_cusum"), (std::vector<float>{-1, 0, 0}));
  Columns columns = table.columns();
  const Columns extremes = run_columns(columns, {aggregate({"max"})});
  ASSERT_TRUE(extremes.bad_rows);
  ASSERT_EQ(extremes.bad_rows->size(), 1u);
  EXPECT_EQ(extremes.bad_rows->begin()->first, 1);
}

TEST(aggregate, says_what_it_cannot_do_before_the_start) {
  Schema schema({tensor_field("x", DType::kFloat32, {6}), tensor_field("y", DType::kFloat32, {5})});
  const auto problem = [&](const OpSpec& op) -> std::string {
    const std::vector<Problem> problems = problems_of(schema, {op});
    return problems.empty() ? "" : problems.front().message + "; " + problems.front().remedy;
  };
  EXPECT_NE(problem(aggregate({"median"})).find("'median' is no function; there are sum, mean"), std::string::npos);
  EXPECT_NE(problem(aggregate({"mean"}, {{"every", 4}})).find("no multiple of every=4"), std::string::npos);
  EXPECT_NE(problem(aggregate({"mean"}, {{"axis", 1}})).find("no axis 1"), std::string::npos);
  EXPECT_NE(problem(aggregate({"mean"}, {{"times", "y"}})).find("multiplied with each other"), std::string::npos);
  EXPECT_NE(problem(aggregate({"mean", "mean"})).find("named twice"), std::string::npos);
  EXPECT_EQ(problem(aggregate({"mean"}, {{"every", 3}})), "");
}

OpSpec window(int64_t n, Json more = Json::object()) {
  Json args = {{"n", n}, {"field", "x"}};
  args.update(more);
  return step("window", std::move(args));
}

TEST(window, cuts_the_first_axis_and_leaves_the_rest_at_the_end) {
  Table table(2);
  table.add<int32_t>("x", DType::kInt32, {0, 1, 2, 3, 4, 10, 11, 12, 13, 14}, {5});
  const Columns apart = run_columns(table.columns(), {window(2)});
  EXPECT_EQ(apart.schema[0].to_string(), "x: int32 (2, 2)");
  EXPECT_EQ(values_of<int32_t>(apart, "x"), (std::vector<int32_t>{0, 1, 2, 3, 10, 11, 12, 13}));
  const Columns over = run_columns(table.columns(), {window(3, {{"stride", 1}})});
  EXPECT_EQ(over.schema[0].to_string(), "x: int32 (3, 3)");
  EXPECT_EQ(values_of<int32_t>(over, "x"),
            (std::vector<int32_t>{0, 1, 2, 1, 2, 3, 2, 3, 4, 10, 11, 12, 11, 12, 13, 12, 13, 14}));
}

TEST(window, keeps_the_axes_behind) {
  Table table(1);
  table.add<uint8_t>("x", DType::kUint8, {1, 2, 3, 4, 5, 6}, {3, 2});
  const Columns made = run_columns(table.columns(), {window(2, {{"stride", 1}})});
  EXPECT_EQ(made.schema[0].to_string(), "x: uint8 (2, 2, 2)");
  EXPECT_EQ(values_of<uint8_t>(made, "x"), (std::vector<uint8_t>{1, 2, 3, 4, 3, 4, 5, 6}));
}

TEST(window, refuses_what_has_no_length_or_too_little) {
  Schema schema({tensor_field("x", DType::kFloat32, {4})});
  const auto problem = [&](const OpSpec& op) -> std::string {
    const std::vector<Problem> problems = problems_of(schema, {op});
    return problems.empty() ? "" : problems.front().message;
  };
  EXPECT_NE(problem(window(5)).find("fewer than a window"), std::string::npos);
  EXPECT_NE(problem(window(2, {{"stride", 0}})).find("stride is 0"), std::string::npos);
  schema[0].shape = Shape{Shape::kUnknown};
  EXPECT_NE(problem(window(2)).find("no axis of known length"), std::string::npos);
}

}  // namespace
}  // namespace forebay::ops_test
