#include "pipeline/collate.h"

#include <gtest/gtest.h>

#include <cstring>

#include "forebay/string_list.h"

namespace forebay {
namespace {

Value numbers(std::vector<int32_t> values, Shape shape) {
  Tensor tensor = Tensor::allocate(DType::kInt32, shape);
  if (!values.empty()) std::memcpy(tensor.buffer.data(), values.data(), values.size() * sizeof(int32_t));
  return Value::of(std::move(tensor));
}
Value row(std::vector<int32_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  return numbers(std::move(values), {n});
}
Value text(std::string_view words) {
  Buffer buffer = Buffer::allocate(words.size());
  std::memcpy(buffer.data(), words.data(), words.size());
  return Value::of_text(std::move(buffer));
}
Value texts(const std::vector<std::string_view>& strings, FieldKind kind = FieldKind::kTextList) {
  return Value::of_list(kind, StringList::pack(strings).value().buffer);
}
Field field_of(FieldKind kind, Shape shape = {}) {
  Field field;
  field.name = "x";
  field.kind = kind;
  field.dtype = DType::kInt32;
  field.shape = shape;
  return field;
}
const Field kRows = field_of(FieldKind::kTensor, {Shape::kUnknown});
const Field kAny = field_of(FieldKind::kAny);

struct Collated {
  Result<Collation> plan = Status(Code::kInternal, "");
  BatchField field;
  std::vector<int32_t> values() const {
    return {field.values.data<int32_t>(), field.values.data<int32_t>() + field.values.shape.elements()};
  }
  std::vector<int64_t> offsets() const {
    return {field.offsets.data<int64_t>(), field.offsets.data<int64_t>() + field.offsets.shape.elements()};
  }
};

CollationMemory memory_for(const Collation& plan, size_t rows) {
  return {Buffer::allocate(plan.value_bytes), Buffer::allocate(plan.offset_bytes(rows)),
          Buffer::allocate(plan.string_offset_bytes())};
}

Collated collate_all(const Field& field, const std::vector<Value>& rows) {
  std::vector<const Value*> pointers;
  for (const Value& value : rows) pointers.push_back(&value);
  Collated result;
  result.plan = plan_collation("x", field, pointers);
  if (!result.plan.ok()) return result;
  result.field = collate(*result.plan, rows_of(pointers), memory_for(*result.plan, rows.size()));
  return result;
}

std::vector<Value> list(Value a, Value b, Value c) {
  std::vector<Value> values;
  values.push_back(std::move(a));
  values.push_back(std::move(b));
  values.push_back(std::move(c));
  return values;
}

TEST(Collate, equal_shapes_stack) {
  const Collated made =
      collate_all(kAny, list(numbers({1, 2}, {1, 2}), numbers({3, 4}, {1, 2}), numbers({5, 6}, {1, 2})));
  EXPECT_EQ(made.field.kind, BatchField::Kind::kDense);
  EXPECT_EQ(made.field.values.shape, (Shape{3, 1, 2}));
  EXPECT_EQ(made.values(), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Collate, scalars_become_one_axis) {
  const Collated made = collate_all(kAny, list(numbers({1}, {}), numbers({2}, {}), numbers({3}, {})));
  EXPECT_EQ(made.field.values.shape, (Shape{3}));
}

TEST(Collate, rows_of_different_lengths_become_values_and_offsets) {
  const Collated made = collate_all(kRows, list(row({1, 2}), row({}), row({3})));
  EXPECT_EQ(made.field.kind, BatchField::Kind::kRagged);
  EXPECT_EQ(made.values(), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(made.offsets(), (std::vector<int64_t>{0, 2, 2, 3}));
  EXPECT_EQ(made.field.row(0).size(), 8u);
  EXPECT_EQ(made.field.row(1).size(), 0u);
}

TEST(Collate, rows_of_more_axes_may_differ_in_the_first) {
  std::vector<Value> rows;
  rows.push_back(numbers({1, 2, 3, 4}, {2, 2}));
  rows.push_back(numbers({}, {0, 2}));
  rows.push_back(numbers({5, 6}, {1, 2}));
  const Collated found = collate_all(kAny, rows);
  ASSERT_TRUE(found.plan.ok()) << found.plan.status().message();
  EXPECT_EQ(found.field.kind, BatchField::Kind::kRagged);
  EXPECT_EQ(found.field.values.shape, (Shape{3, 2}));
  EXPECT_EQ(found.values(), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(found.offsets(), (std::vector<int64_t>{0, 2, 2, 3}));
  EXPECT_EQ(found.field.row(2).size(), 2 * sizeof(int32_t));

  Field padded = kAny;
  padded.pad_value = -1;
  const Collated filled = collate_all(padded, rows);
  ASSERT_TRUE(filled.plan.ok()) << filled.plan.status().message();
  EXPECT_EQ(filled.field.values.shape, (Shape{3, 2, 2}));
  EXPECT_EQ(filled.values(), (std::vector<int32_t>{1, 2, 3, 4, -1, -1, -1, -1, 5, 6, -1, -1}));
  EXPECT_EQ(filled.field.lengths, (std::vector<int64_t>{2, 0, 1}));
  EXPECT_EQ(filled.field.row(2).size(), 2 * sizeof(int32_t));
}

TEST(Collate, pictures_never_become_ragged) {
  Field picture = field_of(FieldKind::kTensor, {Shape::kUnknown, Shape::kUnknown, 1});
  picture.image = true;
  std::vector<Value> rows;
  rows.push_back(numbers({1, 2}, {2, 1, 1}));
  rows.push_back(numbers({3}, {1, 1, 1}));
  const Collated found = collate_all(picture, rows);
  ASSERT_FALSE(found.plan.ok());
  EXPECT_NE(found.plan.status().message().find("resize"), std::string::npos);
}

TEST(Collate, an_announced_ragged_field_is_ragged_where_lengths_happen_to_agree) {
  EXPECT_EQ(collate_all(kRows, list(row({1}), row({2}), row({3}))).field.kind, BatchField::Kind::kRagged);
  EXPECT_EQ(collate_all(kAny, list(row({1}), row({2}), row({3}))).field.kind, BatchField::Kind::kDense);
}

TEST(Collate, padding_fills_to_the_longest_or_the_length_given) {
  Field padded = kRows;
  padded.pad_value = -1;
  const Collated longest = collate_all(padded, list(row({1, 2}), row({}), row({3})));
  EXPECT_EQ(longest.field.kind, BatchField::Kind::kDense);
  EXPECT_EQ(longest.field.values.shape, (Shape{3, 2}));
  EXPECT_EQ(longest.values(), (std::vector<int32_t>{1, 2, -1, -1, 3, -1}));
  padded.pad_length = 3;
  EXPECT_EQ(collate_all(padded, list(row({1, 2}), row({}), row({3}))).values(),
            (std::vector<int32_t>{1, 2, -1, -1, -1, -1, 3, -1, -1}));
  padded.pad_length = 1;
  EXPECT_EQ(collate_all(padded, list(row({1, 2}), row({}), row({3}))).plan.status().code(), Code::kInvalidArgument);
}

TEST(Collate, text_is_joined) {
  const Collated made = collate_all(field_of(FieldKind::kText), list(text("straße"), text(""), text("b")));
  EXPECT_EQ(made.field.kind, BatchField::Kind::kText);
  EXPECT_EQ(made.offsets(), (std::vector<int64_t>{0, 7, 7, 8}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(made.field.values.buffer.data()), 8), "straßeb");
}

std::vector<std::vector<std::string>> lists_of(const BatchField& field) {
  std::vector<std::vector<std::string>> lists;
  for (int64_t row = 0; row + 1 < field.offsets.shape[0]; ++row) {
    lists.emplace_back();
    for (int64_t i = field.offsets.data<int64_t>()[row]; i < field.offsets.data<int64_t>()[row + 1]; ++i) {
      const auto string = field.string(i);
      lists.back().emplace_back(reinterpret_cast<const char*>(string.data()), string.size());
    }
  }
  return lists;
}

TEST(Collate, lists_of_text_become_bytes_and_both_offsets) {
  const Collated made =
      collate_all(field_of(FieldKind::kTextList), list(texts({"straße", ""}), texts({}), texts({"b", "cd", "e"})));
  EXPECT_EQ(made.field.kind, BatchField::Kind::kTextList);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(made.field.values.buffer.data()), 11), "straßebcde");
  EXPECT_EQ(made.offsets(), (std::vector<int64_t>{0, 2, 2, 5}));
  const auto* ends = made.field.string_offsets.data<int64_t>();
  EXPECT_EQ((std::vector<int64_t>{ends, ends + made.field.string_offsets.shape[0]}),
            (std::vector<int64_t>{0, 7, 7, 8, 10, 11}));
  EXPECT_EQ(lists_of(made.field), (std::vector<std::vector<std::string>>{{"straße", ""}, {}, {"b", "cd", "e"}}));
  EXPECT_EQ(made.field.row(2).size(), 4u);
  EXPECT_EQ(made.plan->nbytes(3), 11 + 4 * 8 + 6 * 8u);
}

TEST(Collate, rows_of_columns_give_the_same_lists) {
  const std::vector<Value> rows = list(texts({"a"}), texts({}), texts({"", "bc"}));
  std::vector<RowBytes> bytes;
  for (const Value& row : rows) bytes.push_back(row.bytes.span());
  bytes.push_back({});  // an empty run of bytes is a list without elements
  const Collation plan = plan_collation(field_of(FieldKind::kTextList), bytes).value();
  EXPECT_EQ(lists_of(collate(plan, bytes, memory_for(plan, bytes.size()))),
            (std::vector<std::vector<std::string>>{{"a"}, {}, {"", "bc"}, {}}));
}

TEST(Collate, rows_of_columns_of_more_axes_are_ragged_or_padded) {
  const std::vector<std::vector<int32_t>> numbers = {{1, 2}, {}, {3, 4, 5, 6}};
  std::vector<RowBytes> rows;
  for (const auto& row : numbers)
    rows.emplace_back(reinterpret_cast<const uint8_t*>(row.data()), row.size() * sizeof(int32_t));
  Field pairs = field_of(FieldKind::kTensor, {Shape::kUnknown, 2});
  Collated made;
  made.plan = plan_collation(pairs, rows);
  made.field = collate(*made.plan, rows, memory_for(*made.plan, rows.size()));
  EXPECT_EQ(made.field.values.shape, (Shape{3, 2}));
  EXPECT_EQ(made.offsets(), (std::vector<int64_t>{0, 1, 1, 3}));
  pairs.pad_value = -1;
  made.plan = plan_collation(pairs, rows);
  made.field = collate(*made.plan, rows, memory_for(*made.plan, rows.size()));
  EXPECT_EQ(made.field.values.shape, (Shape{3, 2, 2}));
  EXPECT_EQ(made.values(), (std::vector<int32_t>{1, 2, -1, -1, -1, -1, -1, -1, 3, 4, 5, 6}));
  EXPECT_EQ(made.field.lengths, (std::vector<int64_t>{1, 0, 2}));
}

// Collates the field's rows in pieces of `bytes` bytes, the last piece first.
BatchField in_pieces(const Collation& plan, const std::vector<RowBytes>& rows, size_t bytes) {
  BatchField out = lay_out(plan, rows.size(), memory_for(plan, rows.size()));
  const std::vector<CollationPiece> pieces = cut(plan, rows, bytes);
  for (size_t i = pieces.size(); i-- > 0;) collate(plan, rows, pieces[i], out);
  return out;
}

std::vector<uint8_t> all_bytes(const BatchField& field) {
  std::vector<uint8_t> bytes;
  for (const Tensor* tensor : {&field.values, &field.offsets, &field.string_offsets}) {
    const size_t size = static_cast<size_t>(tensor->shape.elements()) * dtype_size(tensor->dtype);
    if (tensor->buffer.data() != nullptr)
      bytes.insert(bytes.end(), tensor->buffer.data(), tensor->buffer.data() + size);
  }
  for (const int64_t length : field.lengths) bytes.push_back(static_cast<uint8_t>(length));
  return bytes;
}

TEST(Collate, in_whatever_pieces_rows_are_copied_the_field_is_the_same) {
  std::vector<std::vector<int32_t>> numbers;
  std::vector<Value> lists;
  std::vector<RowBytes> number_rows, list_rows;
  for (int32_t i = 0; i < 200; ++i) {
    numbers.emplace_back(static_cast<size_t>(i * 7 % 11), i);
    lists.push_back(i % 5 == 0
                        ? texts({})
                        : texts({"a", std::string_view("bbbbbbbbbbbbb").substr(0, static_cast<size_t>(i % 13)), ""}));
  }
  for (const auto& row : numbers)
    number_rows.emplace_back(reinterpret_cast<const uint8_t*>(row.data()), row.size() * sizeof(int32_t));
  for (const Value& list : lists) list_rows.push_back(list.bytes.span());
  Field padded = kRows;
  padded.pad_value = -1;
  const Field strings = field_of(FieldKind::kTextList);
  for (const auto& [field, rows] :
       {std::pair(kRows, &number_rows), std::pair(padded, &number_rows), std::pair(strings, &list_rows)}) {
    const Collation plan = plan_collation(field, *rows).value();
    const std::vector<uint8_t> whole = all_bytes(collate(plan, *rows, memory_for(plan, rows->size())));
    for (const size_t bytes : {1, 100, 1000, 1 << 20}) EXPECT_EQ(all_bytes(in_pieces(plan, *rows, bytes)), whole);
    EXPECT_EQ(cut(plan, *rows, 1 << 20).size(), 1u);
    EXPECT_GE(cut(plan, *rows, 400).size(), 4u);
  }
}

TEST(Collate, a_row_without_elements_goes_with_lists_of_any_kind) {
  const Value nothing = Value::of(Tensor::allocate(DType::kFloat64, {0}));
  EXPECT_EQ(lists_of(collate_all(kAny, list(nothing.copy(), texts({"a"}), nothing.copy())).field),
            (std::vector<std::vector<std::string>>{{}, {"a"}, {}}));
  const Collated bytes =
      collate_all(kAny, list(texts({"\xff"}, FieldKind::kBytesList), nothing.copy(), nothing.copy()));
  EXPECT_EQ(bytes.field.kind, BatchField::Kind::kBytesList);
}

TEST(Collate, what_does_not_go_together_is_named) {
  const auto refused = [](const Field& field, std::vector<Value> values) {
    return collate_all(field, values).plan.status();
  };
  const Status shapes = refused(kAny, list(numbers({1, 2}, {1, 2}), numbers({1, 2}, {2, 1}), numbers({1, 2}, {1, 2})));
  EXPECT_EQ(shapes.code(), Code::kInvalidArgument);
  EXPECT_NE(shapes.message().find("'x'"), std::string::npos);
  EXPECT_NE(shapes.message().find("int32 (1, 2)"), std::string::npos);
  EXPECT_NE(shapes.message().find("int32 (2, 1)"), std::string::npos);
  EXPECT_FALSE(refused(kAny, list(row({1}), numbers({1}, {}), row({1}))).ok());
  EXPECT_FALSE(refused(kAny, list(row({1}), Value::of(Tensor::allocate(DType::kInt64, {1})), row({1}))).ok());
  EXPECT_FALSE(refused(kAny, list(row({1}), text("a"), row({1}))).ok());
  EXPECT_FALSE(refused(kAny, list(text("a"), Value::of_bytes(Buffer::allocate(1)), text("a"))).ok());
  EXPECT_FALSE(refused(kAny, list(texts({"a"}), text("a"), texts({}))).ok());
  EXPECT_FALSE(refused(kAny, list(texts({"a"}), row({1}), texts({}))).ok());
  EXPECT_FALSE(refused(kAny, list(texts({"a"}), texts({"a"}, FieldKind::kBytesList), texts({}))).ok());
  EXPECT_FALSE(refused(kAny, list(row({1}), Value(), row({1}))).ok());
  EXPECT_FALSE(refused(kAny, list(Value(), Value(), Value())).ok());
}

TEST(Collate, no_rows_keep_kind_and_shape) {
  const Collated dense = collate_all(field_of(FieldKind::kTensor, {Shape::kUnknown, Shape::kUnknown, 3}), {});
  EXPECT_EQ(dense.field.values.shape, (Shape{0, 0, 0, 3}));
  const Collated boxes = collate_all(field_of(FieldKind::kTensor, {Shape::kUnknown, 4}), {});
  EXPECT_EQ(boxes.field.kind, BatchField::Kind::kRagged);
  EXPECT_EQ(boxes.field.values.shape, (Shape{0, 4}));
  const Collated ragged = collate_all(kRows, {});
  EXPECT_EQ(ragged.field.kind, BatchField::Kind::kRagged);
  EXPECT_EQ(ragged.offsets(), std::vector<int64_t>{0});
  EXPECT_EQ(collate_all(field_of(FieldKind::kText), {}).field.kind, BatchField::Kind::kText);
  const Collated lists = collate_all(field_of(FieldKind::kTextList), {});
  EXPECT_EQ(lists.field.kind, BatchField::Kind::kTextList);
  EXPECT_EQ(lists.offsets(), std::vector<int64_t>{0});
  EXPECT_EQ(lists.field.string_offsets.data<int64_t>()[0], 0);
}

}  // namespace
}  // namespace forebay
