#include "materialize/batch_rows.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/string_list.h"
#include "format/materialized/sample_columns.h"

namespace forebay {
namespace {

Tensor offsets_to(std::vector<int64_t> values) {
  Tensor tensor = Tensor::allocate(DType::kInt64, {static_cast<int64_t>(values.size())});
  std::memcpy(tensor.buffer.data(), values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

Tensor text_of(const std::string& text) {
  Tensor tensor = Tensor::allocate(DType::kUint8, {static_cast<int64_t>(text.size())});
  if (!text.empty()) std::memcpy(tensor.buffer.data(), text.data(), text.size());
  return tensor;
}

BatchField named(std::string name, BatchField::Kind kind) {
  BatchField field;
  field.name = std::move(name), field.kind = kind;
  return field;
}

// A batch of three rows with fields of every kind.
Batch three_rows(int64_t first = 0) {
  Batch batch;
  batch.ids = {first, first + 1, first + 2};
  BatchField dense = named("dense", BatchField::Kind::kDense), ragged = named("ragged", BatchField::Kind::kRagged);
  dense.values = Tensor::allocate(DType::kInt32, {3, 2});
  std::iota(dense.values.data<int32_t>(), dense.values.data<int32_t>() + 6, static_cast<int32_t>(first));
  ragged.values = Tensor::allocate(DType::kUint16, {4});
  std::iota(ragged.values.data<uint16_t>(), ragged.values.data<uint16_t>() + 4, static_cast<uint16_t>(100));
  ragged.offsets = offsets_to({0, 3, 3, 4});
  BatchField text = named("text", BatchField::Kind::kText), lists = named("lists", BatchField::Kind::kTextList);
  text.values = text_of("abcd"), text.offsets = offsets_to({0, 1, 1, 4});
  lists.values = text_of("onetwo"), lists.offsets = offsets_to({0, 2, 2, 3}),
  lists.string_offsets = offsets_to({0, 3, 3, 6});
  batch.fields = {dense, ragged, text, lists};
  return batch;
}

std::vector<StoredField> fields_of(const Batch& batch) {
  std::vector<StoredField> fields;
  for (const BatchField& field : batch.fields) fields.push_back({field_of(field), false});
  return fields;
}

TEST(BatchRows, AFieldIsWhatAllItsBatchesHave) {
  const Batch batch = three_rows();
  EXPECT_EQ(field_of(batch.fields[0]).to_string(), "dense: int32 (?,)");
  EXPECT_EQ(field_of(batch.fields[1]).to_string(), "ragged: uint16 (?,)");
  EXPECT_EQ(field_of(batch.fields[2]).kind, FieldKind::kText);
  EXPECT_EQ(field_of(batch.fields[3]).kind, FieldKind::kTextList);
}

TEST(BatchRows, ARowIsARecordWithMemoryOfItsOwn) {
  Batch batch = three_rows();
  const std::vector<StoredField> fields = fields_of(batch);
  const Result<Record> record = RowCopier(fields, 1).copy(batch, 2);
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  std::memset(batch.fields[0].values.buffer.data(), 0xFF, batch.fields[0].values.nbytes());
  EXPECT_EQ((*record)[0].tensor.shape, (Shape{2}));
  EXPECT_EQ((*record)[0].tensor.data<int32_t>()[0], 4);
  EXPECT_EQ((*record)[1].tensor.shape, (Shape{1}));
  EXPECT_EQ((*record)[1].tensor.data<uint16_t>()[0], 103);
  EXPECT_EQ((*record)[2].bytes.size(), 3U);
  const StringList list((*record)[3].bytes.span());
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list.text(0), "two");
}

TEST(BatchRows, RowsOfOneSizeLieEndToEndAndOthersAreWholeAllTheSame) {
  Batch batch = three_rows();
  const std::vector<StoredField> fields = fields_of(batch);
  RowCopier copies(fields, 3);
  std::vector<Record> records;
  for (int64_t row = 0; row < 3; ++row) records.push_back(*copies.copy(batch, row));
  const auto end = [&](size_t row) { return records[row][0].tensor.buffer.data() + records[row][0].tensor.nbytes(); };
  EXPECT_EQ(records[1][0].tensor.buffer.data(), end(0));
  EXPECT_EQ(records[2][0].tensor.buffer.data(), end(1));
  for (int64_t row = 0; row < 3; ++row) {
    const Record alone = *RowCopier(fields, 1).copy(batch, row);
    for (size_t i = 0; i < fields.size(); ++i) {
      const std::span<const uint8_t> one = bytes_of(records[static_cast<size_t>(row)][i]), other = bytes_of(alone[i]);
      EXPECT_TRUE(std::ranges::equal(one, other)) << row << ' ' << i;
    }
  }
}

TEST(BatchRows, AMissingFieldIsToldWithTheSample) {
  Batch batch = three_rows(40);
  const std::vector<StoredField> fields = fields_of(batch);
  batch.fields.pop_back();
  const Status status = RowCopier(fields, 1).copy(batch, 0).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.to_string().find("'lists'"), std::string::npos);
  EXPECT_NE(status.to_string().find("40"), std::string::npos);
  RowJoiner together(fields);
  EXPECT_EQ(together.add(batch, 0, 1).code(), Code::kInvalidArgument);
}

TEST(BatchRows, RowsOfManyBatchesAreOneRunWithIds) {
  const Batch first = three_rows(0), second = three_rows(3);
  std::vector<StoredField> fields = fields_of(first);
  fields[0].field.shape = {2};
  RowJoiner together(fields);
  ASSERT_TRUE(together.add(first, 1, 3).ok());
  ASSERT_TRUE(together.add(second, 0, 1).ok());
  EXPECT_EQ(together.rows(), 3);
  const Columns columns = together.take(70);
  EXPECT_TRUE(columns.check().ok()) << columns.check().to_string();
  EXPECT_EQ(columns.schema.names(), "id, dense, ragged, text, lists");
  const auto* ids = reinterpret_cast<const int64_t*>(columns.values[0].values.data());
  EXPECT_EQ(std::vector<int64_t>(ids, ids + 3), (std::vector<int64_t>{70, 71, 72}));
  const auto* dense = reinterpret_cast<const int32_t*>(columns.values[1].values.data());
  EXPECT_EQ(std::vector<int32_t>(dense, dense + 6), (std::vector<int32_t>{2, 3, 4, 5, 3, 4}));
  EXPECT_EQ(columns.value(2, 0).tensor.shape, (Shape{0}));
  EXPECT_EQ(columns.value(2, 2).tensor.shape, (Shape{3}));
  EXPECT_EQ(columns.value(3, 1).bytes.size(), 3U);
  EXPECT_EQ(StringList(columns.value(4, 2).bytes.span()).size(), 2U);
  EXPECT_EQ(together.rows(), 0) << "the next begin anew";
}

TEST(BatchRows, RowsOfAnotherTypeOrShapeAreTold) {
  Batch batch = three_rows();
  std::vector<StoredField> fields = fields_of(batch);
  fields[0].field.dtype = DType::kInt64;
  EXPECT_NE(RowJoiner(fields).add(batch, 0, 1).to_string().find("another type"), std::string::npos);
  fields = fields_of(batch);
  fields[0].field.shape = {3};
  EXPECT_NE(RowJoiner(fields).add(batch, 0, 1).to_string().find("another shape"), std::string::npos);
}

TEST(BatchRows, ColumnsThatWereWrittenGetOtherIdsAndNothingElse) {
  const Batch batch = three_rows();
  const std::vector<StoredField> fields = fields_of(batch);
  RowJoiner together(fields);
  ASSERT_TRUE(together.add(batch, 0, 3).ok());
  Columns columns = together.take(0);
  const Columns others = with_ids(columns, fields, 9);
  EXPECT_EQ(reinterpret_cast<const int64_t*>(others.values[0].values.data())[2], 11);
  for (size_t i = 1; i < columns.values.size(); ++i)
    EXPECT_EQ(others.values[i].values.data(), columns.values[i].values.data());
}

}  // namespace
}  // namespace forebay
