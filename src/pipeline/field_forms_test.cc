#include "pipeline/field_forms.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

// Forms of fields that user code makes, over several batches, and rows of finished fields.

namespace forebay {
namespace {

using Kind = BatchField::Kind;

Tensor int64s(const std::vector<int64_t>& values, const Shape& shape) {
  Tensor tensor = Tensor::allocate(DType::kInt64, shape);
  if (!values.empty()) std::memcpy(tensor.buffer.data(), values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

BatchField dense(int64_t rows, int64_t length) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < rows * length; ++i) values.push_back(i);
  return {"x", Kind::kDense, int64s(values, {rows, length}), {}};
}

BatchField ragged(const std::vector<int64_t>& offsets) {
  const int64_t total = offsets.back();
  return {"x", Kind::kRagged, int64s(std::vector<int64_t>(static_cast<size_t>(total), 7), {total}),
          int64s(offsets, {static_cast<int64_t>(offsets.size())})};
}

Batch batch_of(BatchField field, int64_t rows) {
  Batch batch;
  batch.fields.push_back(std::move(field));
  batch.ids.resize(static_cast<size_t>(rows));
  return batch;
}

ExecutionPlan plan_with(FieldKind kind, bool named_ragged = false, bool padded = false) {
  const auto plan = std::make_shared<BranchPlan>();
  OutputField& output = plan->outputs.emplace_back();
  output.field.name = "x";
  output.field.kind = kind;
  output.field.ragged = named_ragged;
  if (padded) output.field.pad_value = 0.0;
  return plan;
}

std::vector<int64_t> offsets_in(const BatchField& field) {
  return {field.offsets.data<int64_t>(), field.offsets.data<int64_t>() + field.offsets.shape[0]};
}

TEST(FieldForms, rows_of_one_length_are_arrays_and_stay_so) {
  FieldForms forms(plan_with(FieldKind::kAny), 2, {});
  for (int i = 0; i < 3; ++i) {
    Batch batch = batch_of(dense(2, 3), 2);
    ASSERT_TRUE(forms.unify(batch).ok());
    EXPECT_EQ(batch.fields[0].kind, Kind::kDense);
    EXPECT_EQ(batch.fields[0].values.shape, (Shape{2, 3}));
  }
}

TEST(FieldForms, rows_of_another_length_than_all_before_are_refused_with_both_ways_out) {
  for (BatchField other : {dense(2, 4), ragged({0, 3, 5})}) {
    FieldForms forms(plan_with(FieldKind::kAny), 2, {});
    Batch first = batch_of(dense(2, 3), 2), second = batch_of(std::move(other), 2);
    ASSERT_TRUE(forms.unify(first).ok());
    const Status status = forms.unify(second);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    for (const char* part : {"all rows of the field 'x' had 3 values so far", ".pad(\"x\", value)", "ragged=\"x\""})
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

TEST(FieldForms, what_was_values_and_offsets_once_is_so_where_lengths_happen_to_agree) {
  FieldForms forms(plan_with(FieldKind::kAny), 2, {});
  Batch first = batch_of(ragged({0, 3, 5}), 2), second = batch_of(dense(2, 3), 2), third = batch_of(dense(2, 0), 2);
  for (Batch* batch : {&first, &second, &third}) {
    ASSERT_TRUE(forms.unify(*batch).ok());
    EXPECT_EQ(batch->fields[0].kind, Kind::kRagged);
  }
  EXPECT_EQ(second.fields[0].values.shape, (Shape{6}));
  EXPECT_EQ(offsets_in(second.fields[0]), (std::vector<int64_t>{0, 3, 6}));
  EXPECT_EQ(offsets_in(third.fields[0]), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(second.fields[0].values.data<int64_t>()[5], 5) << "the values are those that were there";
}

TEST(FieldForms, a_field_that_is_named_ragged_is_so_from_the_first_batch) {
  FieldForms by_user(plan_with(FieldKind::kAny), 2, {"x"});
  FieldForms by_source(plan_with(FieldKind::kAny, true), 2, {});
  for (FieldForms* forms : {&by_user, &by_source}) {
    Batch batch = batch_of(dense(2, 3), 2);
    ASSERT_TRUE(forms->unify(batch).ok());
    EXPECT_EQ(batch.fields[0].kind, Kind::kRagged);
  }
}

TEST(FieldForms, a_batch_of_one_row_is_an_array_of_any_length) {
  FieldForms forms(plan_with(FieldKind::kAny), 1, {});
  for (const int64_t length : {3, 5, 0, 3}) {
    Batch batch = batch_of(dense(1, length), 1);
    ASSERT_TRUE(forms.unify(batch).ok()) << length;
    EXPECT_EQ(batch.fields[0].values.shape, (Shape{1, length}));
  }
}

TEST(FieldForms, fields_whose_form_is_known_before_are_left_alone) {
  FieldForms forms(plan_with(FieldKind::kTensor), 2, {});
  for (const int64_t length : {3, 5}) {
    Batch batch = batch_of(dense(2, length), 2);
    EXPECT_TRUE(forms.unify(batch).ok()) << "not the business of user code's rules";
  }
}

TEST(FieldForms, padded_rows_are_arrays_of_the_longest_in_each_batch) {
  FieldForms forms(plan_with(FieldKind::kAny, false, true), 2, {});
  for (const int64_t length : {3, 5, 2}) {
    Batch batch = batch_of(dense(2, length), 2);
    ASSERT_TRUE(forms.unify(batch).ok()) << length;
    EXPECT_EQ(batch.fields[0].kind, Kind::kDense);
  }
}

BatchField texts(int64_t rows) {
  BatchField field{"x", Kind::kTextList, Tensor::allocate(DType::kUint8, {2}), {}};
  field.offsets = int64s(std::vector<int64_t>(static_cast<size_t>(rows + 1), 0), {rows + 1});
  field.offsets.data<int64_t>()[rows] = 1;
  field.string_offsets = int64s({0, 2}, {2});
  return field;
}

TEST(FieldForms, rows_without_any_string_are_such_lists_where_others_were) {
  FieldForms forms(plan_with(FieldKind::kAny), 2, {});
  Batch first = batch_of(texts(2), 2), none = batch_of(dense(2, 0), 2), also_none = batch_of(ragged({0, 0, 0}), 2);
  ASSERT_TRUE(forms.unify(first).ok());
  for (Batch* batch : {&none, &also_none}) {
    ASSERT_TRUE(forms.unify(*batch).ok());
    EXPECT_EQ(batch->fields[0].kind, Kind::kTextList);
    EXPECT_EQ(offsets_in(batch->fields[0]), (std::vector<int64_t>{0, 0, 0}));
    EXPECT_EQ(batch->fields[0].string_offsets.shape, (Shape{1}));
    EXPECT_EQ(batch->fields[0].row(1).size(), 0u);
  }
}

// If all rows of a batch are skipped, it has the fields of earlier batches.
TEST(FieldForms, a_batch_without_rows_has_the_fields_of_those_before_and_their_types) {
  struct Case {
    BatchField first;
    Kind kind;
    Shape shape;
  };
  for (const Case& at : {Case{dense(2, 3), Kind::kDense, {0, 3}}, Case{ragged({0, 1, 4}), Kind::kRagged, {0}},
                         Case{texts(2), Kind::kTextList, {0}}}) {
    FieldForms forms(plan_with(FieldKind::kAny), 2, {});
    Batch first = batch_of(at.first, 2), empty;
    ASSERT_TRUE(forms.unify(first).ok());
    ASSERT_TRUE(forms.unify(empty).ok());
    ASSERT_EQ(empty.fields.size(), 1u);
    EXPECT_EQ(empty.fields[0].name, "x");
    EXPECT_EQ(empty.fields[0].kind, at.kind);
    EXPECT_EQ(empty.fields[0].values.shape, at.shape);
    EXPECT_EQ(empty.fields[0].values.dtype, at.kind == Kind::kTextList ? DType::kUint8 : DType::kInt64);
    if (at.kind != Kind::kDense) {
      EXPECT_EQ(offsets_in(empty.fields[0]), std::vector<int64_t>{0});
    }
  }
}

TEST(FieldForms, a_first_batch_without_rows_decides_nothing) {
  FieldForms forms(plan_with(FieldKind::kAny), 2, {});
  Batch empty, first = batch_of(dense(2, 3), 2);
  ASSERT_TRUE(forms.unify(empty).ok());
  EXPECT_TRUE(empty.fields.empty());
  ASSERT_TRUE(forms.unify(first).ok());
}

// ---- rows of finished fields

std::string bytes_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

BatchField of_strings(Kind kind, const std::string& all, const std::vector<int64_t>& offsets) {
  BatchField field{"x", kind, Tensor::allocate(DType::kUint8, {static_cast<int64_t>(all.size())}), {}};
  if (!all.empty()) std::memcpy(field.values.buffer.data(), all.data(), all.size());
  field.offsets = int64s(offsets, {static_cast<int64_t>(offsets.size())});
  return field;
}

TEST(BatchField, a_row_of_an_array_is_its_part_and_without_what_filled_it_up) {
  BatchField field = dense(3, 2);
  EXPECT_EQ(field.row(2).size(), 16u);
  EXPECT_EQ(reinterpret_cast<const int64_t*>(field.row(2).data())[1], 5);
  field.lengths = {2, 0, 1};
  EXPECT_EQ(field.row(1).size(), 0u);
  EXPECT_EQ(field.row(2).size(), 8u);
  BatchField scalars{"x", Kind::kDense, int64s({4, 5}, {2}), {}};
  EXPECT_EQ(scalars.row(1).size(), 8u);
}

TEST(BatchField, a_row_of_values_and_offsets_is_its_elements) {
  const BatchField field = ragged({0, 3, 3, 5});
  EXPECT_EQ(field.row(0).size(), 24u);
  EXPECT_EQ(field.row(1).size(), 0u);
  EXPECT_EQ(field.row(2).size(), 16u);
}

TEST(BatchField, a_row_of_text_is_its_bytes_and_one_of_many_strings_all_of_them_end_to_end) {
  const BatchField text = of_strings(Kind::kText, "abcde", {0, 2, 2, 5});
  EXPECT_EQ(bytes_of(text.row(0)), "ab");
  EXPECT_EQ(bytes_of(text.row(1)), "");
  EXPECT_EQ(bytes_of(text.row(2)), "cde");
  BatchField lists = of_strings(Kind::kTextList, "abcde", {0, 2, 2, 3});
  lists.string_offsets = int64s({0, 1, 3, 5}, {4});
  EXPECT_EQ(bytes_of(lists.row(0)), "abc");
  EXPECT_EQ(bytes_of(lists.row(1)), "");
  EXPECT_EQ(bytes_of(lists.row(2)), "de");
  EXPECT_EQ(bytes_of(lists.string(1)), "bc");
  EXPECT_TRUE(lists.string_list());
  EXPECT_FALSE(text.string_list());
}

TEST(Batch, finds_fields_by_their_whole_name) {
  const Batch batch = batch_of(dense(1, 1), 1);
  EXPECT_EQ(batch.find("x"), &batch.fields[0]);
  EXPECT_EQ(batch.find("X"), nullptr);
  EXPECT_EQ(batch.find(""), nullptr);
}

}  // namespace
}  // namespace forebay
