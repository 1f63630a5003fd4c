#include "stream/rows/row_payload.h"

#include <gtest/gtest.h>

#include <cstring>

#include "forebay/string_list.h"

namespace forebay {

namespace {

Field payload_field(std::string name, FieldKind kind, DType dtype = DType::kUint8, Shape shape = {}) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.dtype = dtype;
  field.shape = shape;
  return field;
}

template <typename T>
Buffer payload_buffer(const std::vector<T>& values) {
  Buffer made = Buffer::allocate(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(made.data(), values.data(), made.size());
  return made;
}

Buffer payload_text(std::string_view text) { return payload_buffer(std::vector<char>(text.begin(), text.end())); }

/// Three rows of every kind of field.
Columns all_kinds() {
  Columns columns;
  columns.rows = 3;
  columns.schema = Schema({payload_field("flag", FieldKind::kTensor, DType::kBool),
                           payload_field("pair", FieldKind::kTensor, DType::kFloat32, Shape{2}),
                           payload_field("list", FieldKind::kTensor, DType::kInt16, Shape{Shape::kUnknown}),
                           payload_field("text", FieldKind::kText), payload_field("bytes", FieldKind::kBytes),
                           payload_field("words", FieldKind::kTextList)});
  const std::vector<std::string_view> two = {"ab", ""};
  const Buffer run = StringList::pack(two).value().buffer;
  std::string runs(reinterpret_cast<const char*>(run.data()), run.size());
  columns.values = {{payload_buffer<uint8_t>({1, 0, 1}), {}},
                    {payload_buffer<float>({1, 2, 3, 4, 5, 6}), {}},
                    {payload_buffer<int16_t>({9, 7, 8}), payload_buffer<int64_t>({1, 1, 3, 3})},
                    {payload_text("xyz"), payload_buffer<int64_t>({0, 3, 3, 3})},
                    {payload_text("123456789"), payload_buffer<int64_t>({0, 1, 9, 9})},
                    {payload_text(runs + runs),
                     payload_buffer<int64_t>({0, static_cast<int64_t>(runs.size()), static_cast<int64_t>(runs.size()),
                                              2 * static_cast<int64_t>(runs.size())})}};
  EXPECT_TRUE(columns.check().ok()) << columns.check().to_string();
  return columns;
}

Buffer written_row(const RowPayload& payload, const Columns& columns, int64_t row) {
  Buffer bytes = Buffer::allocate(payload.bytes(columns, row));
  payload.write(columns, row, bytes.data());
  return bytes;
}

std::string value_bytes(const Value& value) {
  const Buffer& buffer = value.kind == FieldKind::kTensor ? value.tensor.buffer : value.bytes;
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

void expect_same_record(const Record& found, const Record& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].kind, wanted[i].kind) << i;
    EXPECT_EQ(value_bytes(found[i]), value_bytes(wanted[i])) << i;
    if (wanted[i].kind != FieldKind::kTensor) continue;
    EXPECT_EQ(found[i].tensor.shape, wanted[i].tensor.shape) << i;
    EXPECT_EQ(found[i].tensor.dtype, wanted[i].tensor.dtype) << i;
  }
}

}  // namespace

TEST(RowPayload, GivesTheRowsOfColumnsWhereverItsBytesStand) {
  const Columns columns = all_kinds();
  const RowPayload payload(columns.schema);
  for (int64_t row = 0; row < columns.rows; ++row) {
    const Buffer bytes = written_row(payload, columns, row);
    EXPECT_EQ(bytes.size() % 8, 0u);
    for (const size_t shift : {0, 1, 8, 13}) {
      Buffer moved = Buffer::allocate(bytes.size() + shift).slice(shift, bytes.size());
      std::memcpy(moved.data(), bytes.data(), bytes.size());
      Record record;
      ASSERT_TRUE(payload.read(moved, "k", record).ok());
      expect_same_record(record, columns.row(row));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(record[1].tensor.buffer.data()) % sizeof(float), 0u);
    }
  }
}

TEST(RowPayload, SaysWhatIsWrongWithARow) {
  const RowPayload payload{Schema()};
  const Status status = Status(Code::kUnsupported, "of a kind");
  Record record;
  const Status found = payload.read(RowPayload::of_error(status), "a.parquet row 3", record);
  EXPECT_EQ(found.code(), Code::kUnsupported);
  EXPECT_EQ(found.message(), "of a kind");
  EXPECT_EQ(found.key(), "a.parquet row 3");
}

TEST(RowPayload, WhatIsCutOffOrChangedIsCorruptAndNeverReadOutside) {
  const Columns columns = all_kinds();
  const RowPayload payload(columns.schema);
  const Buffer bytes = written_row(payload, columns, 1);
  Record record;
  for (size_t size = 0; size < bytes.size(); ++size) {
    Buffer cut = Buffer::allocate(size);  // so that a sanitizer sees what is read behind it
    if (size > 0) std::memcpy(cut.data(), bytes.data(), size);
    EXPECT_EQ(payload.read(cut, "k", record).code(), Code::kCorrupt) << size;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    Buffer changed = Buffer::allocate(bytes.size());
    std::memcpy(changed.data(), bytes.data(), bytes.size());
    changed.data()[at] ^= 0xff;
    (void)payload.read(changed, "k", record);
  }
}

}  // namespace forebay
