#include "format/table_manifest.h"

#include <gtest/gtest.h>

#include "format/table/fake_table.h"
#include "store/memory/memory_store.h"

namespace forebay {
namespace {

using Cell = FakeTable::Cell;

/// Columns path (text), n (int64), weight (float32), class (text).
FakeTable listing() {
  FakeTable table;
  table.columns = {{"path", DType::kUint8, true, true},
                   {"n", DType::kInt64, false, true},
                   {"weight", DType::kFloat32},
                   {"class", DType::kUint8, true}};
  table.groups = {{{std::string("a.jpg"), int64_t{1}, 0.5, std::string("cat")},
                   {std::string("b.jpg"), int64_t{2}, 1.5, std::string()}},
                  {{std::string("c.jpg"), int64_t{3}, 2.5, std::string("dog")}}};
  return table;
}

Result<ManifestTable> read(const FakeTable& table, const std::string& path_column = "path", ColumnTypes types = {}) {
  const auto store = memory_store();
  store->put("list.parquet", table.to_bytes());
  const FakeCodecs codecs;
  const auto info = stat_wait(*store, "list.parquet", {});
  return read_table_manifest({store, "list.parquet", ""}, *info,
                             {.path_column = path_column, .types = std::move(types)}, codecs, {});
}

void expect_refused(const Status& status, Code code, const char* part) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

}  // namespace

TEST(TableManifest, rows_become_paths_and_columns_with_their_types) {
  const auto table = read(listing());
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  ASSERT_EQ(table->paths.size(), 3);
  EXPECT_EQ(table->paths.text(2), "c.jpg");
  ASSERT_EQ(table->columns.size(), 3u);
  EXPECT_EQ(table->columns[0].field().to_string(), "n: int64 ()");
  EXPECT_EQ(table->columns[1].field().to_string(), "weight: float32 ()");
  float weights[2];
  const int64_t ids[] = {2, 0};
  table->columns[1].gather(ids, reinterpret_cast<uint8_t*>(weights));
  EXPECT_EQ(weights[0], 2.5F);
  EXPECT_EQ(weights[1], 0.5F);
  const auto text = [&](int64_t id) {
    const Value value = table->columns[2].value(id);
    return std::string(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  };
  EXPECT_EQ(text(0), "cat");
  EXPECT_EQ(text(1), "");
  EXPECT_EQ(text(2), "dog");
}

TEST(TableManifest, what_is_no_manifest_is_told) {
  expect_refused(read(listing(), "pat").status(), Code::kInvalidArgument, "did you mean 'path'");
  expect_refused(read(listing(), "n").status(), Code::kCorrupt, "is not text");
  FakeTable table = listing();
  table.columns[1].name = "key";
  expect_refused(read(table).status(), Code::kInvalidArgument, "called 'key'");
  table = listing();
  table.groups[1][0][1] = Cell();
  expect_refused(read(table).status(), Code::kCorrupt, "row 3: column 'n' is null");
  table = listing();
  table.groups[0][1][0] = std::string();
  expect_refused(read(table).status(), Code::kCorrupt, "row 2: 'path' is empty");
  table.groups.clear();
  expect_refused(read(table).status(), Code::kNotFound, "no rows");
}

TEST(TableManifest, types_are_those_that_are_asked_for) {
  const auto table =
      read(listing(), "path", {{"n", {.kind = FieldKind::kText}}, {"weight", {.dtype = DType::kFloat64}}});
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  for (const Column& column : table->columns) {
    if (column.field().name == "n") {
      EXPECT_EQ(column.field().kind, FieldKind::kText);
    }
    if (column.field().name == "weight") {
      EXPECT_EQ(column.field().dtype, DType::kFloat64);
      EXPECT_EQ(*column.value(1).tensor.data<double>(), 1.5);
    }
  }
  expect_refused(read(listing(), "path", {{"weight", {.dtype = DType::kInt64}}}).status(), Code::kCorrupt,
                 "'weight' is '0.5'");
  expect_refused(read(listing(), "path", {{"m", {}}}).status(), Code::kInvalidArgument, "no column 'm'");
}

}  // namespace forebay
