#include "format/column.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

Result<Column> of_cells(const std::vector<std::string>& cells) {
  ColumnBuilder builder("n");
  for (size_t i = 0; i < cells.size(); ++i) builder.add_cell(cells[i], i + 1);
  return std::move(builder).finish();
}

DType type_of(const std::vector<std::string>& cells) { return of_cells(cells).value().field().dtype; }

template <typename T>
T at(const Column& column, int64_t id) {
  return *column.value(id).tensor.data<T>();
}

constexpr const char* kLargestInt = "9223372036854775807";
constexpr const char* kBeyondInt = "9223372036854775808";
constexpr const char* kLargestUint = "18446744073709551615";
constexpr const char* kBeyondUint = "18446744073709551616";

TEST(ColumnOfCells, whole_numbers_keep_every_digit) {
  EXPECT_EQ(type_of({"1", kLargestInt, "-9223372036854775808"}), DType::kInt64);
  EXPECT_EQ(type_of({"1", kBeyondInt}), DType::kUint64);
  const Column column = of_cells({"0", kLargestUint}).value();
  EXPECT_EQ(column.field().dtype, DType::kUint64);
  EXPECT_EQ(at<uint64_t>(column, 1), UINT64_MAX);
}

TEST(ColumnOfCells, whole_numbers_that_no_type_holds_stay_text) {
  using Cells = std::vector<std::string>;
  for (const Cells& cells : {Cells{"1", kBeyondUint}, Cells{"-1", kBeyondInt}, Cells{"-9223372036854775809"}}) {
    const Column column = of_cells(cells).value();
    EXPECT_EQ(column.field().kind, FieldKind::kText);
    const Value last = column.value(static_cast<int64_t>(cells.size()) - 1);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(last.bytes.data()), last.bytes.size()), cells.back());
  }
}

TEST(ColumnOfCells, beside_a_fraction_they_are_floats) {
  EXPECT_EQ(type_of({"1.5", kBeyondUint}), DType::kFloat64);
  EXPECT_EQ(type_of({"1e3", kBeyondInt}), DType::kFloat64);
}

TEST(ColumnOfValues, whole_numbers_keep_every_digit) {
  ColumnBuilder builder("n");
  EXPECT_TRUE(builder.add(int64_t{7}, 1).ok());
  EXPECT_TRUE(builder.add(uint64_t{8}, 2).ok());
  EXPECT_TRUE(builder.add(UINT64_MAX, 3).ok());
  EXPECT_TRUE(builder.add(int64_t{9}, 4).ok());
  const Column column = std::move(builder).finish().value();
  EXPECT_EQ(column.field().dtype, DType::kUint64);
  EXPECT_EQ(at<uint64_t>(column, 0), 7u);
  EXPECT_EQ(at<uint64_t>(column, 2), UINT64_MAX);
  EXPECT_EQ(at<uint64_t>(column, 3), 9u);
}

TEST(ColumnOfValues, both_ends_at_once_are_refused_with_the_line) {
  ColumnBuilder up("n"), down("n");
  EXPECT_TRUE(up.add(int64_t{-1}, 1).ok());
  EXPECT_TRUE(down.add(uint64_t{1} << 63, 1).ok());
  for (const Status& status : {up.add(uint64_t{1} << 63, 2), down.add(int64_t{-1}, 2)}) {
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_NE(status.message().find("line 2: 'n'"), std::string::npos);
  }
}

TEST(ColumnOfValues, beside_a_float_they_are_floats) {
  ColumnBuilder builder("n");
  EXPECT_TRUE(builder.add(uint64_t{1} << 63, 1).ok());
  EXPECT_TRUE(builder.add(0.5, 2).ok());
  EXPECT_TRUE(builder.add(UINT64_MAX, 3).ok());
  const Column column = std::move(builder).finish().value();
  EXPECT_EQ(column.field().dtype, DType::kFloat64);
  EXPECT_EQ(at<double>(column, 0), 0x1p63);
  EXPECT_EQ(at<double>(column, 2), 0x1p64);
}

}  // namespace
}  // namespace forebay
