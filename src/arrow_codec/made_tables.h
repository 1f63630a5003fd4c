#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/json/from_string.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include "base/table_codec.h"

namespace forebay::arrow_codec_test {

using NamedArrays = std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>;

inline std::shared_ptr<arrow::Array> from_json(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

inline std::shared_ptr<arrow::Table> table_of(const NamedArrays& columns, bool nullable = true) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type(), nullable));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

inline std::string bytes_of_stream(arrow::io::BufferOutputStream& out) { return out.Finish().ValueOrDie()->ToString(); }

inline std::string as_parquet(const arrow::Table& table, int64_t rows_a_group = 1 << 20,
                              arrow::Compression::type compression = arrow::Compression::ZSTD) {
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto properties = parquet::WriterProperties::Builder().compression(compression)->build();
  const auto keep_schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  const auto status =
      parquet::arrow::WriteTable(table, arrow::default_memory_pool(), out, rows_a_group, properties, keep_schema);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return bytes_of_stream(*out);
}

inline std::string as_arrow_file(const arrow::Table& table, int64_t rows_a_batch = 1 << 20,
                                 arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED) {
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  if (compression != arrow::Compression::UNCOMPRESSED)
    options.codec = arrow::util::Codec::Create(compression).ValueOrDie();
  options.unify_dictionaries = true;  // a file has one dictionary per column
  auto writer = arrow::ipc::MakeFileWriter(out, table.schema(), options).ValueOrDie();
  EXPECT_TRUE(writer->WriteTable(table, rows_a_batch).ok());
  EXPECT_TRUE(writer->Close().ok());
  return bytes_of_stream(*out);
}

inline NullPolicy mask_nulls() {
  NullPolicy nulls;
  nulls.kind = NullPolicy::Kind::kMask;
  return nulls;
}
inline NullPolicy null_value(NullPolicy::Value value) {
  NullPolicy nulls;
  nulls.kind = NullPolicy::Kind::kValue;
  nulls.value = std::move(value);
  return nulls;
}

}  // namespace forebay::arrow_codec_test
