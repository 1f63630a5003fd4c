#include "base/columns.h"

#include <gtest/gtest.h>

#include <cstring>

#include "forebay/string_list.h"

namespace forebay {
namespace {

Field field(const std::string& name, DType dtype, Shape shape = {}) {
  Field made;
  made.name = name;
  made.dtype = dtype;
  made.shape = shape;
  return made;
}

template <typename T>
Buffer buffer(std::vector<T> values) {
  Buffer made = Buffer::allocate(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(made.data(), values.data(), made.size());
  return made;
}

Columns three_rows() {
  Columns columns;
  Field text = field("text", DType::kUint8);
  text.kind = FieldKind::kText;
  columns.schema = Schema({field("n", DType::kInt16, {2}), field("list", DType::kFloat32, {Shape::kUnknown}), text});
  columns.rows = 3;
  columns.values = {{buffer<int16_t>({1, 2, 3, 4, 5, 6}), {}},
                    {buffer<float>({9, 8, 7}), buffer<int64_t>({0, 2, 2, 3})},
                    {buffer<char>({'a', 'b'}), buffer<int64_t>({0, 0, 1, 2})}};
  return columns;
}

TEST(Columns, a_row_is_a_record_that_shares_their_memory) {
  const Columns columns = three_rows();
  ASSERT_TRUE(columns.check().ok());
  const Record last = columns.row(2);
  EXPECT_EQ(last[0].tensor.data<int16_t>()[1], 6);
  EXPECT_EQ(last[0].tensor.buffer.data(), columns.values[0].values.data() + 8);
  EXPECT_EQ(last[1].tensor.shape, Shape({1}));
  EXPECT_EQ(last[1].tensor.data<float>()[0], 7);
  EXPECT_EQ(last[2].bytes.size(), 1u);
  EXPECT_EQ(columns.row(1)[1].tensor.shape, Shape({0}));
}

Columns with_boxes() {
  Columns columns;
  columns.schema = Schema({field("boxes", DType::kInt16, {Shape::kUnknown, 2})});
  columns.rows = 3;
  columns.values = {{buffer<int16_t>({1, 2, 3, 4, 5, 6}), buffer<int64_t>({0, 1, 1, 3})}};
  return columns;
}

TEST(Columns, offsets_of_rows_of_boxes_count_boxes) {
  Columns columns = with_boxes();
  ASSERT_TRUE(columns.check().ok()) << columns.check().to_string();
  const Value last = columns.value(0, 2);
  EXPECT_EQ(last.tensor.shape, Shape({2, 2}));
  EXPECT_EQ(last.tensor.data<int16_t>()[0], 3);
  EXPECT_EQ(last.tensor.buffer.size(), 8u);
  EXPECT_EQ(columns.value(0, 1).tensor.shape, Shape({0, 2}));
  const Columns one = columns_of(columns.schema, columns.row(2)).value();
  ASSERT_TRUE(one.check().ok()) << one.check().to_string();
  EXPECT_EQ(one.schema.to_string(), columns.schema.to_string());
  EXPECT_EQ(one.values[0].offset()[1], 2);
  const Hash128 hash = content_hash(columns);
  columns.values[0] = {buffer<int16_t>({0, 0, 1, 2, 3, 4, 5, 6}), buffer<int64_t>({1, 2, 2, 4})};
  EXPECT_EQ(content_hash(columns), hash) << "offsets may begin anywhere";
  columns.values[0].offsets = buffer<int64_t>({1, 2, 2, 5});
  EXPECT_FALSE(columns.check().ok()) << "a box more than there are";
}

TEST(Columns, a_row_of_another_shape_than_its_ragged_field_keeps_its_shape) {
  const Schema schema = with_boxes().schema;
  Record record;
  record.push_back(Value::of(Tensor::allocate(DType::kInt16, Shape{4, 3})));
  const Columns one = columns_of(schema, record).value();
  EXPECT_EQ(one.schema[0].shape, Shape({4, 3}));
  EXPECT_TRUE(one.check().ok()) << one.check().to_string();
}

TEST(Columns, lists_of_pictures_are_ragged_and_pictures_are_not) {
  Field pictures = field("images", DType::kUint8, {Shape::kUnknown, 8, 8, 3});
  pictures.image = true;
  EXPECT_TRUE(is_ragged(pictures));
  EXPECT_EQ(item_bytes(pictures), 192u);
  pictures.shape = {Shape::kUnknown, 8, 3};
  EXPECT_FALSE(is_ragged(pictures));
  pictures.shape = {Shape::kUnknown, Shape::kUnknown, 8, 3};
  EXPECT_FALSE(is_ragged(pictures));
}

Columns with_lists(std::vector<std::vector<std::string_view>> rows) {
  Columns columns;
  Field tags = field("tags", DType::kUint8);
  tags.kind = FieldKind::kTextList;
  columns.schema = Schema({tags});
  columns.rows = static_cast<int64_t>(rows.size());
  std::vector<uint8_t> values;
  std::vector<int64_t> offsets = {0};
  for (const auto& strings : rows) {
    const Tensor run = StringList::pack(strings).value();
    values.insert(values.end(), run.buffer.data(), run.buffer.data() + run.nbytes());
    offsets.push_back(static_cast<int64_t>(values.size()));
  }
  columns.values = {{buffer(values), buffer(offsets)}};
  return columns;
}

TEST(Columns, a_row_of_a_list_of_strings_is_its_run) {
  const Columns columns = with_lists({{"a", "bc"}, {}, {""}});
  ASSERT_TRUE(columns.check().ok()) << columns.check().to_string();
  const Value first = std::move(columns.row(0)[0]);
  EXPECT_EQ(first.kind, FieldKind::kTextList);
  EXPECT_EQ(StringList(first.bytes.span()).text(1), "bc");
  EXPECT_EQ(StringList(columns.row(1)[0].bytes.span()).size(), 0u);
  EXPECT_EQ(columns.schema.to_string(), "tags: lists of text");
  const Columns one = columns_of(columns.schema, columns.row(2)).value();
  ASSERT_TRUE(one.check().ok());
  EXPECT_EQ(StringList(one.row(0)[0].bytes.span()).length(0), 0u);
}

TEST(Columns, a_list_of_strings_that_is_none_is_found) {
  Columns columns = with_lists({{"a"}, {"b"}});
  columns.values[0].values.data()[4] = 200;  // the end of the first string
  EXPECT_EQ(columns.check().code(), Code::kInternal);
  EXPECT_NE(columns.check().message().find("'tags'"), std::string::npos);
}

TEST(Columns, a_record_becomes_one_row_and_comes_back) {
  const Columns columns = three_rows();
  for (int64_t row = 0; row < 3; ++row) {
    const Record record = columns.row(row);
    const Columns one = columns_of(columns.schema, record).value();
    ASSERT_TRUE(one.check().ok());
    EXPECT_EQ(one.rows, 1);
    const Record again = one.row(0);
    for (size_t i = 0; i < record.size(); ++i) {
      EXPECT_EQ(again[i].nbytes(), record[i].nbytes());
      EXPECT_EQ(again[i].shape(), record[i].shape());
    }
  }
}

TEST(Columns, equal_content_hashes_alike_wherever_offsets_begin) {
  const Columns columns = three_rows();
  EXPECT_EQ(content_hash(columns), content_hash(three_rows()));
  Columns shifted = columns;
  shifted.values[1] = {buffer<float>({0, 9, 8, 7, 0}), buffer<int64_t>({1, 3, 3, 4})};
  EXPECT_EQ(content_hash(shifted), content_hash(columns));
  Columns moved = columns;
  moved.values[1].offsets = buffer<int64_t>({0, 1, 2, 3});
  EXPECT_NE(content_hash(moved), content_hash(columns)) << "the same values in other rows";
  Columns renamed = columns;
  renamed.schema[0].name = "m";
  EXPECT_NE(content_hash(renamed), content_hash(columns));
  Columns typed = columns;
  typed.schema[0].dtype = DType::kUint16;
  EXPECT_NE(content_hash(typed), content_hash(columns));
  Columns bad = columns;
  bad.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::map<int64_t, Status>{{1, corrupt("null")}});
  EXPECT_NE(content_hash(bad), content_hash(columns));
}

TEST(Columns, a_value_that_user_code_left_out_cannot_be_kept) {
  Schema schema({field("n", DType::kInt16)});
  schema[0].kind = FieldKind::kAny;
  const Result<Columns> columns = columns_of(schema, Record(1));
  EXPECT_EQ(columns.status().code(), Code::kInvalidArgument);
  EXPECT_NE(columns.status().to_string().find("'n'"), std::string::npos);
}

TEST(Columns, lengths_and_offsets_that_do_not_go_together_are_found) {
  Columns short_values = three_rows();
  short_values.values[0].values = buffer<int16_t>({1, 2, 3, 4, 5});
  Columns few_offsets = three_rows();
  few_offsets.values[1].offsets = buffer<int64_t>({0, 2, 2});
  Columns falling = three_rows();
  falling.values[1].offsets = buffer<int64_t>({0, 2, 1, 3});
  Columns behind = three_rows();
  behind.values[1].offsets = buffer<int64_t>({0, 2, 2, 4});
  Columns negative = three_rows();
  negative.values[2].offsets = buffer<int64_t>({-1, 0, 1, 2});
  Columns missing = three_rows();
  missing.values.pop_back();
  for (const Columns* columns : {&short_values, &few_offsets, &falling, &behind, &negative, &missing})
    EXPECT_FALSE(columns->check().ok());
}

}  // namespace
}  // namespace forebay
