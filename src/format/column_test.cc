#include "format/column.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace forebay {
namespace {

Result<Column> of_cells(const std::vector<std::string>& cells) {
  ColumnBuilder builder("n");
  for (size_t i = 0; i < cells.size(); ++i) EXPECT_TRUE(builder.add_cell(cells[i], i + 1).ok());
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

using Cells = std::vector<std::string>;

std::string word_of(const Cells& cells) {
  const Column column = of_cells(cells).value();
  return column.field().kind == FieldKind::kText ? "text" : std::string(dtype_name(column.field().dtype));
}

TEST(ColumnOfCells, are_numbers_only_where_printing_them_gives_the_cells_back) {
  const std::pair<const char*, std::vector<Cells>> kTable[] = {
      {"int64", {{"0"}, {"7", "-12"}, {"10", "0", "1"}}},
      {"float64",
       {{"0.5", "1.25"},
        {"1.0", "2.0", "0.1"},
        {"0.50", "1.25", "-3.00"},
        {"1", "0.5"},
        {"1e-05", "0.001"},
        {"1e+05", "2.5"},
        {"1.5e+300", "0.1"},
        {"0.1", "nan", "-inf"},
        {"0.1", "NaN"},
        {"1.000000e+05", "2.500000e-03"},
        {"9007199254740992", "0.5"},
        {"0.30000000000000004"},
        {"-0.0", "1.0"},
        {"100000.0", "1e+16"}}},
      {"bool", {{"true", "false"}, {"True"}, {"FALSE", "TRUE"}}},
      {"text",
       {{"00501", "10001"},
        {"+4912"},
        {"1_000"},
        {" 5"},
        {"5 "},
        {"0x1F"},
        {"1e5", "2e5"},
        {"1E5"},
        {"007.5"},
        {".5"},
        {"5."},
        {"1.10", "1.9"},
        {"-0"},
        {"--1"},
        {"1,000"},
        {"nan", "inf"},
        {"nan"},
        {"infinity"},
        {"NAN", "0.1"},
        {"True", "true"},
        {"yes", "no"},
        {"2024-01-31"},
        {"12:30"},
        {"1.2.3"},
        {"١٢"},
        {"1", "x"},
        {"1", "true"},
        {"1", "01"},
        {"0.1", "00.1"},
        {"0.12345678901234567890"},
        {"9007199254740993", "0.5"},
        {"1e400", "0.5"},
        {"1.5", kBeyondUint},
        {"1e3", kBeyondInt},
        {"10", "1.10"}}},
  };
  for (const auto& [word, columns] : kTable) {
    for (const Cells& cells : columns) EXPECT_EQ(word_of(cells), word) << cells.front();
  }
}

TEST(ColumnOfCells, every_printed_number_is_read_as_itself) {
  std::mt19937_64 random(3);
  for (const char* form : {"{}", "{:.2f}", "{:.6f}", "{:.17e}", "{:.4e}"}) {
    Cells cells;
    for (int i = 0; i < 300; ++i) {
      const double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 90) - 70);
      cells.push_back(fmt::format(fmt::runtime(form), i % 2 == 0 ? value : -value));
    }
    const Column column = of_cells(cells).value();
    ASSERT_EQ(column.field().dtype, DType::kFloat64) << form;
    for (size_t i = 0; i < cells.size(); ++i)
      EXPECT_EQ(fmt::format(fmt::runtime(form), at<double>(column, static_cast<int64_t>(i))), cells[i]);
  }
}

TEST(ColumnOfCells, no_cell_is_changed_whatever_it_is) {
  // Each cell can be recovered from the column: as the text, or by printing the number in one of
  // the forms above.
  std::mt19937_64 random(11);
  constexpr std::string_view kSigns = "0123456789.e+-xn ";
  for (int tried = 0; tried < 20'000; ++tried) {
    std::string cell;
    for (size_t length = 1 + random() % 6; length > 0; --length) cell += kSigns[random() % kSigns.size()];
    const Column column = of_cells({cell}).value();
    if (column.field().kind == FieldKind::kText) {
      const Value value = column.value(0);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()), cell);
    } else if (column.field().dtype == DType::kInt64) {
      EXPECT_EQ(fmt::format("{}", at<int64_t>(column, 0)), cell);
    } else {
      const double number = at<double>(column, 0);
      std::set<std::string> printed = {fmt::format("{}", number), fmt::format("{}.0", number)};
      char text[64];
      for (const std::chars_format how : {std::chars_format::fixed, std::chars_format::scientific}) {
        printed.insert(std::string(text, std::to_chars(text, text + sizeof text, number, how).ptr));
        for (int decimals = 1; decimals < 8; ++decimals)
          printed.insert(std::string(text, std::to_chars(text, text + sizeof text, number, how, decimals).ptr));
      }
      EXPECT_TRUE(printed.contains(cell)) << cell;
    }
  }
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
  EXPECT_TRUE(builder.add(int64_t{-3}, 3).ok());
  const Column column = std::move(builder).finish().value();
  EXPECT_EQ(column.field().dtype, DType::kFloat64);
  EXPECT_EQ(at<double>(column, 0), 0x1p63);
  EXPECT_EQ(at<double>(column, 2), -3.0);
}

TEST(ColumnOfValues, beside_a_float_none_is_rounded) {
  for (const uint64_t whole : {UINT64_MAX, uint64_t{(1u << 21) + 1} << 32 | 1, (uint64_t{1} << 53) + 1}) {
    ColumnBuilder before("n"), behind("n");
    EXPECT_TRUE(before.add(whole, 1).ok());
    EXPECT_TRUE(behind.add(0.5, 1).ok());
    for (const Status& status : {before.add(0.5, 2), behind.add(whole, 2)}) {
      EXPECT_EQ(status.code(), Code::kCorrupt);
      EXPECT_NE(status.message().find("line 2: 'n' has fractions beside"), std::string::npos) << status.message();
    }
  }
}

}  // namespace
}  // namespace forebay
