#include "format/table/filter_rows.h"

#include <cmath>
#include <random>

#include "format/table/open_table_test_support.h"

namespace forebay {

using namespace table_test;  // NOLINT: these tests are written in its words

TEST(FilterRows, a_filter_goes_by_folders_then_by_statistics_and_reads_only_what_these_leave_open) {
  Opening at;
  at.put("d/k=1/x.parquet", table(0, {10, 10}));
  at.put("d/k=2/x.parquet", table(20, {10, 10}));
  const auto kept = [&](RowFilter filter) {
    at.codecs.counts.decoded = 0;
    return kept_of(*must(at.open("d", {.columns = {}, .filter = std::move(filter)})));
  };
  const auto span = [](int64_t begin, int64_t end) {
    std::vector<int64_t> ids;
    for (; begin < end; ++begin) ids.push_back(begin);
    return ids;
  };
  EXPECT_EQ(kept({{{"k", CompareOp::kEqual, {int64_t{2}}}}}), span(20, 40));
  EXPECT_EQ(at.codecs.counts.decoded, 0) << "folders decide";
  EXPECT_EQ(kept({{{"a", CompareOp::kGreaterEqual, {int64_t{10}}}, {"b", CompareOp::kLess, {100.0}}}}).size(), 30u);
  EXPECT_EQ(at.codecs.counts.decoded, 3) << "NaN could hide in b";
  EXPECT_EQ(kept({{{"a", CompareOp::kLess, {int64_t{13}}}}}), span(0, 13));
  EXPECT_EQ(at.codecs.counts.decoded, 1) << "statistics decide all groups but one";
  EXPECT_EQ(kept({{{"k", CompareOp::kEqual, {int64_t{1}}}, {"a", CompareOp::kGreater, {int64_t{25}}}},
                  {{"t", CompareOp::kIn, {"row 7", "row 31", "none"}}}}),
            (std::vector<int64_t>{7, 31}));
  EXPECT_TRUE(kept({{{"a", CompareOp::kGreater, {int64_t{1000}}}}}).empty());
}

TEST(FilterRows, ids_and_sizes_do_not_change_by_a_filter) {
  Opening at;
  at.put("d/k=1/x.parquet", table(0, {5}));
  at.put("d/k=2/x.parquet", table(5, {5}));
  const auto all = must(at.open("d"));
  const RowFilter filter = {{{"k", CompareOp::kEqual, {int64_t{2}}}}};
  const auto some = must(at.open("d", {.columns = {}, .filter = filter}));
  EXPECT_EQ(some->size(), all->size());
  EXPECT_EQ(some->chunk_begin(1), all->chunk_begin(1));
  EXPECT_EQ(all->kept_rows(), nullptr);
  EXPECT_NE(all->version(), some->version());
}

TEST(FilterRows, wrong_filters_name_the_column) {
  Opening at;
  at.put("x.parquet", table(0, {5}));
  const auto refused = [&](RowCondition condition, const Names& parts) {
    expect_error(at.open("x.parquet", {.columns = Names{"b"}, .filter = {{std::move(condition)}}}).status(),
                 Code::kInvalidArgument, parts);
  };
  refused({"aa", CompareOp::kEqual, {int64_t{1}}}, {"filter: there is no column 'aa'"});
  refused({"a", CompareOp::kEqual, {"text"}}, {"filter: the column a: int64", "'text'"});
  refused({"t", CompareOp::kEqual, {int64_t{1}}}, {"filter: the column t: text", "1 (an integer)"});
}

TEST(FilterRows, dates_are_compared_with_text) {
  Opening at;
  FakeTable file = table(20'480, {10});
  file.columns[0].ticks_per_day = 1;
  at.put("x.parquet", file);
  const RowFilter filter = {
      {{"a", CompareOp::kGreaterEqual, {"2026-01-31"}}, {"a", CompareOp::kLess, {"2026-02-01T12:00:00"}}}};
  EXPECT_EQ(kept_of(*must(at.open("x.parquet", {.columns = {}, .filter = filter}))), (std::vector<int64_t>{4, 5}));
}

TEST(FilterRows, a_column_that_is_only_called_like_a_mask_masks_nothing) {
  Opening at;
  FakeTable file = table(0, {});
  file.columns = {{"a", DType::kInt64}, {"a_valid", DType::kInt64}};
  file.groups = {{{int64_t{1}, int64_t{0}}, {int64_t{2}, int64_t{1}}, {int64_t{3}, int64_t{0}}}};
  at.put("x.parquet", file);
  const RowFilter filter = {{{"a", CompareOp::kLess, {int64_t{3}}}}};
  EXPECT_EQ(kept_of(*must(at.open("x.parquet", {.columns = {}, .filter = filter}))), (std::vector<int64_t>{0, 1}));
}

TEST(FilterRows, a_column_with_nulls_may_stand_beside_one_that_is_called_like_its_mask) {
  for (const NullPolicy::Kind kind : {NullPolicy::Kind::kError, NullPolicy::Kind::kValue}) {
    Opening at;
    FakeTable file = table(0, {});
    file.columns = {{"a", DType::kInt64, false, true}, {"a_valid", DType::kInt64, false, true}};
    file.groups = {{{int64_t{1}, int64_t{0}}, {kNull, int64_t{1}}, {int64_t{3}, kNull}, {int64_t{2}, int64_t{1}}}};
    at.put("x.parquet", file);
    NullPolicy nulls;
    nulls.kind = kind;
    nulls.value = int64_t{0};
    const auto kept = [&](RowFilter filter) {
      return kept_of(*must(at.open("x.parquet", {.columns = {}, .filter = std::move(filter), .reading = nulls})));
    };
    EXPECT_EQ(kept({{{"a", CompareOp::kLess, {int64_t{3}}}}}), (std::vector<int64_t>{0, 3}));
    EXPECT_EQ(kept({{{"a_valid", CompareOp::kGreaterEqual, {int64_t{0}}}}}), (std::vector<int64_t>{0, 1, 3}));
    EXPECT_EQ(kept({{{"a", CompareOp::kLess, {int64_t{3}}}, {"a_valid", CompareOp::kEqual, {int64_t{1}}}}}),
              std::vector<int64_t>{3});
  }
}

// Compares with a plain loop over the rows, with nulls and NaN, with and without statistics.
TEST(FilterRows, a_filter_keeps_what_looking_at_every_row_would_keep) {
  std::mt19937 random(11);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 60; ++round) {
    Opening at;
    std::vector<std::vector<Cell>> rows;
    for (int file = 0; file < 3; ++file) {
      FakeTable made = table(0, {});
      made.columns[1].nullable = true;
      made.statistics = pick(3) != 0;
      for (int group = 0; group < 3; ++group) {
        made.groups.emplace_back();
        for (int i = 0, n = pick(90), center = pick(6); i < n; ++i) {
          std::vector<Cell> row = {int64_t{center + pick(3)}, pick(9) == 0 ? std::nan("") : center + pick(3) * 0.5,
                                   std::string(1, static_cast<char>('a' + center + pick(3)))};
          if (pick(10) == 0) row[0] = kNull;
          if (pick(10) == 0) row[1] = kNull;
          made.groups.back().push_back(row);
          rows.push_back(row);
        }
      }
      at.put("d/" + std::to_string(file) + ".parquet", made);
    }
    RowFilter filter;
    for (int any = 0; any < 1 + pick(2); ++any) {
      filter.emplace_back();
      for (int all = 0; all < 1 + pick(2); ++all) {
        const int column = pick(3);
        RowCondition condition{Names{"a", "b", "t"}[static_cast<size_t>(column)], static_cast<CompareOp>(pick(8)), {}};
        const bool several = condition.op >= CompareOp::kIn;
        for (int i = 0, n = several ? pick(3) : 1; i < n; ++i) {
          condition.values.push_back(column == 2 ? FilterValue(std::string(1, static_cast<char>('a' + pick(8))))
                                                 : FilterValue(pick(16) * 0.5));
        }
        filter.back().push_back(condition);
      }
    }
    std::vector<int64_t> expected;
    for (size_t id = 0; id < rows.size(); ++id) {
      bool any = false;
      for (const auto& all : filter) {
        bool every = true;
        for (const RowCondition& condition : all) {
          const Cell& cell = rows[id][condition.column == "a" ? 0 : condition.column == "b" ? 1 : 2];
          const auto holds = [&](auto left, auto right) {
            switch (condition.op) {
              case CompareOp::kLess: return left < right;
              case CompareOp::kLessEqual: return left <= right;
              case CompareOp::kGreater: return left > right;
              case CompareOp::kGreaterEqual: return left >= right;
              default: return left == right;
            }
          };
          bool one = false;
          for (const FilterValue& value : condition.values) {
            if (const auto* text = std::get_if<std::string>(&cell)) one |= holds(*text, std::get<std::string>(value));
            if (const auto* number = std::get_if<int64_t>(&cell))
              one |= holds(static_cast<double>(*number), std::get<double>(value));
            if (const auto* number = std::get_if<double>(&cell)) one |= holds(*number, std::get<double>(value));
          }
          if (condition.op == CompareOp::kNotEqual || condition.op == CompareOp::kNotIn) one = !one;
          every = every && one && !std::holds_alternative<std::monostate>(cell);
        }
        any = any || every;
      }
      if (any) expected.push_back(static_cast<int64_t>(id));
    }
    ASSERT_EQ(kept_of(*must(at.open("d", {.columns = Names{"t"}, .filter = filter}))), expected) << "round " << round;
  }
}

}  // namespace forebay
