#include "ops/column/column.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ops/column/column_test_support.h"

namespace forebay::ops_test {
namespace {

std::string problems_with(const std::vector<std::string>& names, ColumnNeed need, const Schema& schema) {
  std::vector<Problem> list;
  Problems problems(list);
  check_columns(names, need, "twice", schema, problems);
  std::string text;
  for (const Problem& problem : list) text += problem.message + " | " + problem.remedy + "\n";
  return text;
}

Schema every_kind() {
  Field any;
  any.name = "any";
  any.kind = FieldKind::kAny;
  Field texts = bytes_field("texts");
  texts.kind = FieldKind::kTextList;
  Field text = bytes_field("text");
  text.kind = FieldKind::kText;
  return Schema({tensor_field("number", DType::kFloat32, {}), tensor_field("flag", DType::kBool, {}),
                 tensor_field("id", DType::kInt32, {4}), bytes_field("raw"), text, texts, any, bytes_field("image")});
}

TEST(check_columns, what_an_operator_needs_decides_which_fields_pass) {
  const Schema schema = every_kind();
  const auto passes = [&](const char* name, ColumnNeed need) { return problems_with({name}, need, schema).empty(); };
  struct Row {
    const char* field;
    bool numbers, and_bool, keys;
  };
  for (const Row& row : {Row{"number", true, true, false}, Row{"flag", false, true, true}, Row{"id", true, true, true},
                         Row{"raw", false, false, true}, Row{"text", false, false, true},
                         Row{"texts", false, false, false}, Row{"any", true, true, true}}) {
    EXPECT_EQ(passes(row.field, ColumnNeed::kNumbers), row.numbers) << row.field;
    EXPECT_EQ(passes(row.field, ColumnNeed::kNumbersAndBool), row.and_bool) << row.field;
    EXPECT_EQ(passes(row.field, ColumnNeed::kKeys), row.keys) << row.field;
  }
}

TEST(check_columns, each_refusal_names_the_field_and_a_way_that_fits_it) {
  const Schema schema = every_kind();
  EXPECT_EQ(
      problems_with({"flag"}, ColumnNeed::kNumbers, schema),
      "the field 'flag' is bool, and .twice works on numbers | put .cast(\"uint8\", field=\"flag\") before .twice\n");
  EXPECT_EQ(problems_with({"number"}, ColumnNeed::kKeys, schema),
            "the field 'number' is float32, and .twice works on integers, bytes or text | put .cast(\"int64\", "
            "field=\"number\") before .twice\n");
  EXPECT_NE(problems_with({"image"}, ColumnNeed::kNumbers, schema).find("put .decode_image() before .twice"),
            std::string::npos);
  EXPECT_NE(problems_with({"raw"}, ColumnNeed::kNumbers, schema).find(".hash_bucket makes numbers of text and bytes"),
            std::string::npos);
  EXPECT_EQ(problems_with({"id", "id"}, ColumnNeed::kNumbers, schema),
            "the field 'id' is named twice | name it once\n");
  EXPECT_EQ(problems_with({}, ColumnNeed::kNumbers, schema), "no field is named | name a column, or a list of them\n");
}

TEST(find_column, looks_again_at_what_user_code_made) {
  Table table(1);
  table.add<uint8_t>("flag", DType::kBool, {1}).add<float>("x", DType::kFloat32, {1});
  EXPECT_EQ(*find_column(table.columns(), "x", ColumnNeed::kNumbers), 1u);
  EXPECT_EQ(find_column(table.columns(), "flag", ColumnNeed::kNumbers).status().message(),
            "the field 'flag' is bool; numbers are needed");
  EXPECT_EQ(find_column(table.columns(), "y", ColumnNeed::kNumbers).status().message(), "there is no field 'y' here");
}

TEST(elements, are_all_values_of_a_column_and_of_lists_only_those_that_rows_refer_to) {
  Table table(2);
  table.add<int16_t>("t", DType::kInt16, {1, 2, 3, 4, 5, 6}, {3})
      .add_lists<int16_t>("l", DType::kInt16, {{7, 8}, {9}}, 5);
  EXPECT_EQ(elements(table.columns(), 0).count, 6);
  const Elements of_lists = elements(table.columns(), 1);
  ASSERT_EQ(of_lists.count, 3);
  EXPECT_EQ(reinterpret_cast<const int16_t*>(of_lists.data)[0], 7);
}

TEST(new_column, of_lists_that_begin_at_zero_shares_their_offsets_and_moves_others_there) {
  Table table(2);
  table.add_lists<int16_t>("zero", DType::kInt16, {{7, 8}, {9}})
      .add_lists<int16_t>("later", DType::kInt16, {{7, 8}, {9}}, 5);
  const Columns& columns = table.columns();
  const ColumnValues shared = new_column(columns, 0, DType::kFloat64), moved = new_column(columns, 1, DType::kFloat64);
  EXPECT_EQ(shared.offsets.data(), columns.values[0].offsets.data());
  EXPECT_EQ((std::vector<int64_t>(moved.offset(), moved.offset() + 3)), (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(new_column_bytes(columns, 0, DType::kFloat64), 24u);
  EXPECT_EQ(new_column_bytes(columns, 1, DType::kFloat64), 24u + 3 * 8);
  EXPECT_EQ(moved.values.size(), 24u);
}

TEST(new_column, of_strings_has_one_element_a_row) {
  Table table(3);
  table.add_texts("s", {"a", "", "long text"});
  EXPECT_EQ(new_column_bytes(table.columns(), 0, DType::kInt64), 24u);
  Columns columns = table.columns();
  ColumnValues made = new_column(columns, 0, DType::kInt64);
  EXPECT_EQ(made.values.size(), 24u);
  EXPECT_EQ(made.offsets.size(), 0u);
  replace_column(columns, 0, std::move(made), DType::kInt64);
  EXPECT_EQ(columns.schema[0].to_string(), "s: int64 ()");
  EXPECT_TRUE(columns.check().ok());
}

TEST(mark_bad, tells_what_was_wrong_first) {
  Columns columns = Table(3).columns();
  mark_bad(columns, {});
  EXPECT_EQ(columns.bad_rows, nullptr) << "nothing bad, nothing made";
  mark_bad(columns, {{1, unsupported("first")}});
  const auto before = columns.bad_rows;
  mark_bad(columns, {{1, unsupported("second")}, {2, unsupported("third")}});
  ASSERT_EQ(columns.bad_rows->size(), 2u);
  EXPECT_EQ(columns.bad_rows->at(1).message(), "first");
  EXPECT_EQ(before->size(), 1u) << "others may hold it";
}

/// Doubles each number. Fields called "same" stay unchanged.
class Twice final : public ElementwiseOp {
 public:
  explicit Twice(std::vector<std::string> fields) : ElementwiseOp(std::move(fields), ColumnNeed::kNumbers) {}
  mutable std::atomic<int> made{0};

 private:
  std::optional<DType> output_dtype(const Field& field) const override {
    return field.name == "same" ? std::nullopt : std::optional(DType::kInt64);
  }
  Status check_field(const Field& field) const override {
    return field.name == "odd" ? invalid_argument("this one does not suit") : Status();
  }
  void make(size_t, const Columns& columns, size_t field, uint8_t* out) const override {
    ++made;
    const Elements in = elements(columns, field);
    for (int64_t i = 0; i < in.count; ++i)
      reinterpret_cast<int64_t*>(out)[i] = 2 * reinterpret_cast<const int64_t*>(in.data)[i];
  }
};

TEST(elementwise_op, makes_nothing_where_one_of_its_fields_is_refused) {
  Table table(1);
  table.add<int64_t>("a", DType::kInt64, {3}).add<int64_t>("odd", DType::kInt64, {4});
  WorkMemory memory(1000);
  for (const char* second : {"odd", "missing"}) {
    const Twice twice({"a", second});
    Columns columns = table.columns();
    EXPECT_FALSE(twice.apply(columns, memory).ok());
    EXPECT_EQ(twice.made, 0) << second;
    EXPECT_EQ(memory.reserved(), 0u) << second;
  }
}

TEST(elementwise_op, leaves_fields_that_need_no_change_as_they_are) {
  Table table(1);
  table.add<int64_t>("same", DType::kInt64, {3}).add<int64_t>("a", DType::kInt64, {4});
  Columns columns = table.columns();
  WorkMemory memory;
  const Twice twice({"same", "a"});
  ASSERT_TRUE(twice.apply(columns, memory).ok());
  EXPECT_EQ(columns.values[0].values.data(), table.columns().values[0].values.data());
  EXPECT_EQ(values_of<int64_t>(columns, "a"), std::vector<int64_t>{8});
  EXPECT_EQ(memory.reserved(), 8u);
}

TEST(elementwise_op, works_on_the_same_columns_from_many_threads_at_once) {
  std::vector<int64_t> numbers(2000), doubled(2000);
  for (int64_t i = 0; i < 2000; ++i) numbers[i] = i, doubled[i] = 2 * i;
  Table table(2000);
  table.add<int64_t>("a", DType::kInt64, numbers);
  const Twice twice({"a"});
  std::vector<std::jthread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Columns columns = table.columns();
        WorkMemory memory;
        right += twice.apply(columns, memory).ok() && values_of<int64_t>(columns, "a") == doubled ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 200);
  EXPECT_EQ(values_of<int64_t>(table.columns(), "a"), numbers);
}

}  // namespace
}  // namespace forebay::ops_test
