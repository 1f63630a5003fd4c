#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "format/table/fake_table.h"
#include "format/table/open_table.h"
#include "store/memory/memory_store.h"

namespace forebay::table_test {

using Cell = FakeTable::Cell;
using Names = std::vector<std::string>;
inline constexpr std::monostate kNull;

/// A table with columns a (int64, nullable), b (float64) and t (text); `rows` holds the rows of
/// each group.
inline FakeTable table(int64_t first, std::vector<int> rows) {
  FakeTable made;
  made.columns = {{"a", DType::kInt64, false, true}, {"b", DType::kFloat64}, {"t", DType::kUint8, true}};
  for (int count : rows) {
    made.groups.emplace_back();
    for (int i = 0; i < count; ++i, ++first)
      made.groups.back().push_back({first, static_cast<double>(first) / 2, "row " + std::to_string(first)});
  }
  return made;
}

struct Opening {
  std::shared_ptr<MemoryStore> store = memory_store();
  FakeCodecs codecs;

  void put(const std::string& key, const FakeTable& file) { store->put(key, file.to_bytes()); }
  Result<std::shared_ptr<const ChunkSource>> open(const std::string& pattern, TableSelection selection = {}) const {
    TableRequest request;
    request.selection = std::move(selection);
    return open_table({store, pattern, ""}, request, codecs, {});
  }
};

/// All rows of a source as texts; rows with nulls are "bad".
inline std::vector<std::string> rows_of(const ChunkSource& source) {
  std::vector<std::string> rows;
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk) {
    const auto fetch = source.chunk_fetch(chunk);
    std::vector<Buffer> fetched;
    for (const ReadRequest& request : fetch.requests) fetched.push_back(read_wait(*fetch.store, request, {}).value());
    WorkMemory memory;
    const auto columns = source.decode(chunk, std::move(fetched), memory);
    if (!columns.ok()) {
      rows.push_back(columns.status().to_string());
      continue;
    }
    EXPECT_EQ(columns->rows, source.chunk_begin(chunk + 1) - source.chunk_begin(chunk));
    for (int64_t row = 0; row < columns->rows; ++row) {
      std::string text;
      for (size_t i = 0; i < columns->schema.size(); ++i) {
        const Field& field = columns->schema[i];
        const ColumnValues& column = columns->values[i];
        text += text.empty() ? "" : "|";
        if (field.kind == FieldKind::kText) {
          text.append(reinterpret_cast<const char*>(column.values.data()) + column.offset()[row],
                      static_cast<size_t>(column.offset()[row + 1] - column.offset()[row]));
        } else if (field.dtype == DType::kInt64) {
          text += std::to_string(reinterpret_cast<const int64_t*>(column.values.data())[row]);
        } else if (field.dtype == DType::kBool) {
          text += column.values.data()[row] ? "yes" : "no";
        } else {
          text += fmt::format("{}", reinterpret_cast<const double*>(column.values.data())[row]);
        }
      }
      const bool bad = columns->bad_rows && columns->bad_rows->contains(row);
      rows.push_back(bad ? "bad" : text);
    }
  }
  return rows;
}

inline std::vector<int64_t> kept_of(const ChunkSource& source) {
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < source.size(); ++id) {
    const auto* bits = source.kept_rows();
    if (bits == nullptr || ((*bits)[static_cast<size_t>(id / 64)] >> (id % 64) & 1) != 0) ids.push_back(id);
  }
  return ids;
}

inline std::shared_ptr<const ChunkSource> must(Result<std::shared_ptr<const ChunkSource>> opened) {
  EXPECT_TRUE(opened.ok()) << opened.status().to_string();
  if (!opened.ok()) std::abort();
  return *opened;
}

inline void expect_error(const Status& status, Code code, const Names& parts) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  for (const auto& part : parts)
    EXPECT_NE(status.to_string().find(part), std::string::npos) << part << "\nin " << status.to_string();
}

}  // namespace forebay::table_test
