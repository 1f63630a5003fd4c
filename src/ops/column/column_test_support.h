#pragma once

// Builds columns from plain vectors, and runs operators on them both ways: all rows at once, and
// each row as a record.

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/ops_test_support.h"

namespace forebay::ops_test {

template <typename T>
Buffer buffer_of(const std::vector<T>& values) {
  Buffer buffer = Buffer::allocate(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

/// Columns under construction.
class Table {
 public:
  explicit Table(int64_t rows) { columns_.rows = rows; }

  template <typename T>
  Table& add(std::string name, DType dtype, const std::vector<T>& values, Shape shape = {}) {
    return put(tensor_field(std::move(name), dtype, shape), {buffer_of(values), {}});
  }
  /// `first` is the first offset; that many unused elements come before the rows.
  template <typename T>
  Table& add_lists(std::string name, DType dtype, const std::vector<std::vector<T>>& rows, int64_t first = 0) {
    std::vector<T> values(static_cast<size_t>(first), T{77});
    std::vector<int64_t> offsets = {first};
    for (const auto& row : rows) {
      values.insert(values.end(), row.begin(), row.end());
      offsets.push_back(static_cast<int64_t>(values.size()));
    }
    return put(tensor_field(std::move(name), dtype, {Shape::kUnknown}), {buffer_of(values), buffer_of(offsets)});
  }
  Table& add_texts(std::string name, const std::vector<std::string>& rows, FieldKind kind = FieldKind::kText,
                   int64_t first = 0) {
    std::string values(static_cast<size_t>(first), '#');
    std::vector<int64_t> offsets = {first};
    for (const std::string& row : rows) {
      values += row;
      offsets.push_back(static_cast<int64_t>(values.size()));
    }
    Field field = bytes_field(std::move(name));
    field.kind = kind;
    return put(std::move(field), {buffer_of(std::vector<char>(values.begin(), values.end())), buffer_of(offsets)});
  }
  const Columns& columns() const { return columns_; }

 private:
  Table& put(Field field, ColumnValues values) {
    columns_.schema.push_back(std::move(field));
    columns_.values.push_back(std::move(values));
    return *this;
  }

  Columns columns_;
};

inline Blob contents(const Columns& columns) {
  Blob all;
  for (const ColumnValues& column : columns.values) {
    for (const Buffer* buffer : {&column.values, &column.offsets})
      all.insert(all.end(), buffer->span().begin(), buffer->span().end());
  }
  return all;
}

inline Blob bytes_of_value(const Value& value) {
  const Buffer& buffer = value.kind == FieldKind::kTensor ? value.tensor.buffer : value.bytes;
  return {buffer.data(), buffer.data() + value.nbytes()};
}

/// Runs the steps on all rows at once. Checks that the input is unchanged, and that the result
/// matches what infer() announced, is consistent, and equals the result of each row alone.
inline Columns run_columns(const Columns& given, const std::vector<OpSpec>& steps) {
  const Blob before = contents(given);
  Columns columns = given;
  WorkMemory memory;
  for (const OpSpec& spec : steps) {
    auto compiled = op(spec.name).compile_columns(spec, columns.schema);
    EXPECT_TRUE(compiled.ok() && *compiled) << spec.name;
    const Status status = (*compiled)->apply(columns, memory);
    EXPECT_TRUE(status.ok()) << status.to_string();
    if (!status.ok()) return columns;
  }
  EXPECT_EQ(contents(given), before) << "memory that others may share was written to";
  EXPECT_TRUE(columns.check().ok()) << columns.check().to_string();
  const Schema announced = schema_after(given.schema, steps);
  EXPECT_EQ(announced.size(), columns.schema.size());
  for (size_t i = 0; i < std::min(announced.size(), columns.schema.size()); ++i)
    EXPECT_EQ(announced[i].to_string(), columns.schema[i].to_string());
  for (int64_t row = 0; row < given.rows; ++row) {
    Record record = given.row(row), expected = columns.row(row);
    const Status status = run(given.schema, steps, record);
    if (columns.bad_rows && columns.bad_rows->contains(row)) {
      EXPECT_EQ(status.message(), columns.bad_rows->at(row).message());
      continue;
    }
    EXPECT_TRUE(status.ok()) << status.to_string();
    if (record.size() != expected.size()) {
      ADD_FAILURE() << record.size() << " fields, not " << expected.size();
      return columns;
    }
    for (size_t i = 0; i < record.size(); ++i) {
      EXPECT_EQ(bytes_of_value(record[i]), bytes_of_value(expected[i]))
          << "row " << row << ", " << columns.schema[i].name;
      EXPECT_EQ(record[i].kind, expected[i].kind);
      if (record[i].kind == FieldKind::kTensor) {
        EXPECT_EQ(record[i].shape(), expected[i].shape());
      }
    }
  }
  return columns;
}

template <typename T>
std::vector<T> values_of(const Columns& columns, const std::string& name) {
  const Buffer& buffer = columns.values[*columns.schema.find(name)].values;
  std::vector<T> values(buffer.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), buffer.data(), values.size() * sizeof(T));
  return values;
}

inline std::vector<int64_t> offsets_of(const Columns& columns, const std::string& name) {
  const ColumnValues& column = columns.values[*columns.schema.find(name)];
  return {column.offset(), column.offset() + columns.rows + 1};
}

inline std::vector<std::string> texts_of(const Columns& columns, const std::string& name) {
  std::vector<std::string> texts;
  const size_t field = *columns.schema.find(name);
  for (int64_t row = 0; row < columns.rows; ++row) {
    const Record record = columns.row(row);
    const Buffer& bytes = record[field].bytes;
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

inline std::string told(const Schema& schema, const std::vector<OpSpec>& steps) {
  std::string text;
  for (const Problem& problem : problems_of(schema, steps)) text += problem.message + " | " + problem.remedy + "\n";
  return text;
}

}  // namespace forebay::ops_test
