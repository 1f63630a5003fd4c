#include "pipeline/packed_rows.h"

#include <gtest/gtest.h>

#include <cstring>

namespace forebay {
namespace {

Field field(const std::string& name, DType dtype, Shape shape = {}) {
  Field made;
  made.name = name;
  made.dtype = dtype;
  made.shape = shape;
  return made;
}

// Fields of all widths, and a list. Values tell their field and row.
Columns some_rows(int64_t rows) {
  Columns columns;
  columns.schema = Schema({field("flag", DType::kUint8), field("wide", DType::kInt64), field("half", DType::kInt16),
                           field("list", DType::kInt32, {Shape::kUnknown}), field("triple", DType::kFloat32, {3}),
                           field("one", DType::kInt32)});
  columns.rows = rows;
  for (size_t i = 0; i < columns.schema.size(); ++i) {
    const size_t bytes =
        i == 3 ? 4 * static_cast<size_t>(rows) : row_bytes(columns.schema[i]) * static_cast<size_t>(rows);
    ColumnValues values{Buffer::allocate(bytes), {}};
    for (size_t byte = 0; byte < bytes; ++byte) values.values.data()[byte] = static_cast<uint8_t>(byte * 31 + i * 7);
    if (i == 3) {
      values.offsets = Buffer::allocate(8 * static_cast<size_t>(rows + 1));
      for (int64_t row = 0; row <= rows; ++row) reinterpret_cast<int64_t*>(values.offsets.data())[row] = row;
    }
    columns.values.push_back(std::move(values));
  }
  return columns;
}

Columns packed_of(const PackedRows& packed, const Columns& columns) {
  return packed.pack(columns, Buffer::allocate(packed.packed_bytes(columns.rows)));
}

TEST(PackedRows, values_are_side_by_side_and_aligned) {
  const Columns columns = some_rows(1);
  const PackedRows packed(columns.schema);
  size_t bytes = 0;
  for (const PackedRows::Part& part : packed.parts()) {
    EXPECT_EQ(part.offset % dtype_size(columns.schema[part.field].dtype), 0u);
    bytes += part.bytes;
  }
  EXPECT_EQ(bytes, 1u + 8 + 2 + 12 + 4);
  EXPECT_EQ(packed.stride(), 32u);
  EXPECT_EQ(packed.unpacked().size(), 1u);
}

TEST(PackedRows, a_row_comes_back_as_it_was_however_many_there_are) {
  for (int64_t rows : {0, 1, 63, 64, 65, 200}) {
    const Columns columns = some_rows(rows);
    const PackedRows packed(columns.schema);
    const Columns made = packed_of(packed, columns);
    ASSERT_TRUE(made.check().ok());
    for (int64_t row = 0; row < rows; ++row) {
      const Record before = columns.row(row), after = packed.row(made, row);
      for (size_t i = 0; i < before.size(); ++i) {
        ASSERT_EQ(after[i].nbytes(), before[i].nbytes());
        EXPECT_EQ(std::memcmp(after[i].tensor.buffer.data(), before[i].tensor.buffer.data(), before[i].nbytes()), 0);
      }
    }
  }
}

TEST(PackedRows, equal_rows_have_equal_bytes_also_between_values) {
  const Columns columns = some_rows(100);
  const PackedRows packed(columns.schema);
  Buffer one = Buffer::allocate(packed.packed_bytes(100)), other = Buffer::allocate(packed.packed_bytes(100));
  std::memset(one.data(), 1, one.size());
  std::memset(other.data(), 2, other.size());
  (void)packed.pack(columns, one);
  (void)packed.pack(columns, other);
  EXPECT_EQ(std::memcmp(one.data(), other.data(), one.size()), 0);
}

TEST(PackedRows, a_single_field_is_not_copied) {
  Columns columns;
  columns.schema = Schema({field("x", DType::kFloat32, {3})});
  columns.rows = 4;
  columns.values = {{Buffer::allocate(48), {}}};
  const PackedRows packed(columns.schema);
  EXPECT_EQ(packed.packed_bytes(4), 0u);
  EXPECT_EQ(packed.pack(columns, Buffer()).values[0].values.data(), columns.values[0].values.data());
}

// Gathers every value of rows in mixed order, to consecutive or other places.
TEST(PackedRows, gathered_values_are_those_of_their_rows) {
  for (int64_t count : {1, 127, 128, 129, 333}) {
    const Columns columns = some_rows(count);
    const PackedRows packed(columns.schema);
    const Columns made = packed_of(packed, columns);
    const auto rows = static_cast<size_t>(count);
    std::vector<const uint8_t*> pointers;
    std::vector<uint32_t> places;
    for (size_t i = 0; i < rows; ++i) {
      pointers.push_back(made.values[0].values.data() + packed.stride() * (i * 7 % rows));
      places.push_back(static_cast<uint32_t>(rows - 1 - i));
    }
    for (const std::vector<uint32_t>& told : {std::vector<uint32_t>(), places}) {
      std::vector<std::vector<uint8_t>> out;
      std::vector<uint8_t*> slots;
      for (const PackedRows::Part& part : packed.parts()) out.emplace_back(part.bytes * rows);
      for (std::vector<uint8_t>& slot : out) slots.push_back(slot.data());
      packed.gather(pointers, slots, told);
      for (size_t p = 0; p < slots.size(); ++p) {
        const auto [field, offset, bytes] = packed.parts()[p];
        for (size_t i = 0; i < rows; ++i) {
          const uint8_t* wanted = columns.values[field].values.data() + bytes * (i * 7 % rows);
          const size_t place = told.empty() ? i : told[i];
          ASSERT_EQ(std::memcmp(slots[p] + bytes * place, wanted, bytes), 0) << p << " " << i;
        }
      }
    }
  }
}

// Rows that do not fit the caches take another code path.
TEST(PackedRows, wide_rows_come_back_as_they_were) {
  Columns columns;
  columns.schema = Schema({field("flag", DType::kUint8), field("wide", DType::kFloat32, {700})});
  columns.rows = 150;
  for (const Field& one : columns.schema) {
    ColumnValues values{Buffer::allocate(row_bytes(one) * 150), {}};
    for (size_t byte = 0; byte < values.values.size(); ++byte)
      values.values.data()[byte] = static_cast<uint8_t>(byte * 13 + byte / 251);
    columns.values.push_back(std::move(values));
  }
  const PackedRows packed(columns.schema);
  const Columns made = packed_of(packed, columns);
  for (int64_t row = 0; row < 150; ++row) {
    const Record before = columns.row(row), after = packed.row(made, row);
    for (size_t i = 0; i < before.size(); ++i)
      ASSERT_EQ(std::memcmp(after[i].tensor.buffer.data(), before[i].tensor.buffer.data(), before[i].nbytes()), 0);
    const uint8_t* end = made.values[0].values.data() + packed.stride() * static_cast<size_t>(row + 1);
    EXPECT_EQ(end[-1] | end[-2] | end[-3], 0) << "behind the flag";
  }
  std::vector<const uint8_t*> pointers;
  for (size_t i = 0; i < 150; ++i) pointers.push_back(made.values[0].values.data() + packed.stride() * (i * 7 % 150));
  std::vector<uint8_t> wide(2800 * 150), flags(150);
  std::vector<uint8_t*> slots;
  for (const PackedRows::Part& part : packed.parts()) slots.push_back(part.field == 0 ? flags.data() : wide.data());
  packed.gather(pointers, slots);
  for (size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(flags[i], columns.values[0].values.data()[i * 7 % 150]);
    ASSERT_EQ(std::memcmp(&wide[2800 * i], columns.values[1].values.data() + 2800 * (i * 7 % 150), 2800), 0);
  }
}

}  // namespace
}  // namespace forebay
