#include "format/csv_reader.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace forebay {
namespace {

/// Rows as "line: field|field", followed by the final status.
std::vector<std::string> csv_rows(std::string_view text, size_t step, char separator = ',') {
  std::vector<std::string> rows;
  CsvReader reader(separator, [&](const std::vector<std::string_view>& fields, uint64_t line) {
    rows.push_back(fmt::format("{}: {}", line, fmt::join(fields, "|")));
    return Status();
  });
  Status status;
  for (size_t at = 0; at < text.size() && status.ok(); at += step) status = reader.feed(text.substr(at, step));
  if (status.ok()) status = reader.finish();
  if (!status.ok()) rows.push_back(status.message());
  return rows;
}

struct CsvCase {
  std::string text;
  std::vector<std::string> rows;
};

TEST(CsvReader, RowsAreTheSameInPiecesOfAnySize) {
  const CsvCase cases[] = {
      {"", {}},
      {"\n\r\n\n", {}},
      {"a", {"1: a"}},
      {"ab", {"1: ab"}},
      {"\xef\xbb\xbf", {}},
      {"\xef\xbb\xbf\"a\"", {"1: a"}},
      {"\xef\xbb", {"1: \xef\xbb"}},
      {"\xef\xbb\xbf\xef\xbb\xbf", {"1: \xef\xbb\xbf"}},  // only one is a mark
      {"a\n\xef\xbb\xbf", {"1: a", "2: \xef\xbb\xbf"}},
      {",", {"1: |"}},
      {",\n,", {"1: |", "2: |"}},
      {"\"\"", {"1: "}},  // an empty field, not an empty line
      {"\"\"\n\n\"\"\r\n", {"1: ", "3: "}},
      {"\"a\nb\n\",c\nd", {"1: a\nb\n|c", "4: d"}},
      {"\"a\r\nb\"\r\n", {"1: a\r\nb"}},
      {"a\rb\r\n", {"1: a\rb"}},
      {"a\r\r\n", {"1: a\r"}},
      {"\"\r\"\n", {"1: \r"}},  // inside quotes it belongs to the field
      {"a\"b\"\"c,\"d\"\"\"", {"1: a\"b\"\"c|d\""}},
      {" \"a\", b ", {"1:  \"a\"| b "}},
      {std::string("a\0b,\0", 5), {std::string("1: a\0b|\0", 8)}},
      {"\"\"\"\"\"\"", {"1: \"\""}},
      {"\"a\"\r", {"1: a"}},
  };
  for (const CsvCase& one : cases) {
    for (const size_t step : {1, 2, 3, 5, 1000})
      EXPECT_EQ(csv_rows(one.text, step), one.rows) << testing::PrintToString(one.text) << " by " << step;
  }
}

TEST(CsvReader, MistakesOfQuotesAreToldWithTheLineTheyAreOn) {
  const std::string behind = ": text behind a closing quote; write quotes inside quotes twice";
  const CsvCase cases[] = {
      {"a\n\"b\"c\n", {"1: a", "line 2" + behind}},
      {"\"a\n\nb\"c", {"line 3" + behind}},
      {"\"a\" ,b", {"line 1" + behind}},
      {"\"a\"\rb", {"line 1" + behind}},
      // This is not a doubled quote, because another character is between.
      {"\"a\"\r\"b\"\n", {"line 1" + behind}},
      {"a\n\n\"b\n\nc", {"1: a", "line 3: this quote is never closed"}},
      {"\"", {"line 1: this quote is never closed"}},
      {"\"a\"\"", {"line 1: this quote is never closed"}},
  };
  for (const CsvCase& one : cases) {
    for (const size_t step : {1, 2, 1000})
      EXPECT_EQ(csv_rows(one.text, step), one.rows) << testing::PrintToString(one.text) << " by " << step;
  }
}

TEST(CsvReader, OnlyTheSeparatorAskedForSeparates) {
  EXPECT_EQ(csv_rows("a,b\tc\t\"d\te\"\n", 1, '\t'), std::vector<std::string>{"1: a,b|c|d\te"});
}

TEST(CsvReader, ARowMayBeAsLongAndAsWideAsTheCapsAndNoMore) {
  const std::string longest(CsvReader::kMaxRowBytes, 'x'), widest(CsvReader::kMaxFields - 1, ',');
  EXPECT_EQ(csv_rows(longest, longest.size()).at(0).size(), longest.size() + 3);
  EXPECT_EQ(csv_rows("a\n" + longest + "y", longest.size()).back().substr(0, 32), "line 2: a row of more than 16777");
  EXPECT_EQ(csv_rows("\"" + longest + "\"\nb", longest.size()).back(), "2: b") << "quotes do not count";
  EXPECT_EQ(csv_rows(widest + "\nb", 4096).back(), "2: b");
  EXPECT_EQ(csv_rows("\n" + widest + ",\n", 4096).back(), "line 2: more than 4096 columns");
  EXPECT_EQ(csv_rows(longest.substr(0, 9'000'000) + "\n" + longest.substr(0, 9'000'000), 1 << 20).size(), 2u)
      << "the cap is of one row";
}

TEST(CsvReader, WhatTheTakerOfRowsSaysEndsTheReading) {
  for (const std::string_view text : {"a\nb\nc\n", "a\nb"}) {
    int rows = 0;
    CsvReader reader(',', [&](const auto&, uint64_t) { return ++rows == 2 ? corrupt("enough") : Status(); });
    Status status = reader.feed(text);
    if (status.ok()) status = reader.finish();
    EXPECT_EQ(status.message(), "enough");
    EXPECT_EQ(rows, 2);
  }
}

}  // namespace
}  // namespace forebay
