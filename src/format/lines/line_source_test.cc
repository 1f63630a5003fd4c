#include "format/lines/line_source.h"

#include <string>

#include <gtest/gtest.h>

#include "format/lines/json_lines.h"
#include "format/lines/text_lines.h"
#include "store/memory/memory_store.h"

namespace forebay {
namespace {

struct Opened {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  Result<std::shared_ptr<const LineTable>> table(LineRows rows, uint64_t block_bytes,
                                                 const std::string& pattern = "*.txt") {
    OpenLinesOptions options;
    options.rows = rows;
    options.block_bytes = block_bytes;
    return open_lines({store, pattern, ""}, {pattern}, false, options, {});
  }
};

Result<Columns> decoded(const UnitSource& source, Store& store, int64_t unit) {
  const UnitSource::UnitFetch fetch = source.unit_fetch(unit);
  std::vector<Buffer> buffers;
  for (const ReadRequest& request : fetch.requests) {
    FOREBAY_ASSIGN(Buffer bytes, read_wait(store, request, {}));
    buffers.push_back(std::move(bytes));
  }
  WorkMemory memory;
  return source.decode(unit, std::move(buffers), memory);
}

/// All values of a field of text.
std::vector<std::string> texts(const UnitSource& source, Store& store, const std::string& name) {
  std::vector<std::string> found;
  for (int64_t unit = 0; unit < source.units(); ++unit) {
    const Result<Columns> columns = decoded(source, store, unit);
    EXPECT_TRUE(columns.ok()) << columns.status().to_string();
    if (!columns.ok()) return found;
    EXPECT_TRUE(columns->check().ok()) << columns->check().to_string();
    EXPECT_LE(columns->nbytes(), source.unit_cost(unit).decoded_bytes);
    EXPECT_EQ(columns->rows, source.unit_begin(unit + 1) - source.unit_begin(unit));
    const ColumnValues& column = columns->values[*columns->schema.find(name)];
    for (int64_t row = 0; row < columns->rows; ++row) {
      const auto begin = static_cast<size_t>(column.offset()[row]), end = static_cast<size_t>(column.offset()[row + 1]);
      found.emplace_back(reinterpret_cast<const char*>(column.values.data()) + begin, end - begin);
    }
  }
  return found;
}

TEST(LineSource, gives_the_same_lines_whatever_the_size_of_blocks) {
  for (const uint64_t block_bytes : {3, 4, 7, 16, 1000}) {
    Opened opened;
    opened.store->put("a.txt", "one\ntwo\r\n\nthree");
    opened.store->put("b.txt", "");
    opened.store->put("c.txt",
                      "\xef\xbb\xbf"
                      "four\n\xe2\x82\xac\n");
    const auto table = opened.table(LineRows::kAll, block_bytes);
    ASSERT_TRUE(table.ok()) << table.status().to_string();
    const LineSource source(*table, text_line_reader());
    EXPECT_EQ(source.size(), 6);
    EXPECT_EQ(texts(source, *opened.store, "text"), (std::vector<std::string>{"one", "two", "", "three", "four", "€"}));
    EXPECT_EQ(texts(source, *opened.store, "key"),
              (std::vector<std::string>{"a.txt:1", "a.txt:2", "a.txt:3", "a.txt:4", "c.txt:1", "c.txt:2"}));
    EXPECT_NE(source.key(4).find("c.txt line 1"), std::string::npos);
  }
}

TEST(LineSource, a_line_that_is_not_utf8_is_a_bad_row_and_the_others_are_good) {
  Opened opened;
  opened.store->put("a.txt",
                    "good\nb\xff"
                    "d\ngood too\n");
  const auto table = opened.table(LineRows::kAll, 1000);
  const LineSource source(*table, text_line_reader());
  const Result<Columns> columns = decoded(source, *opened.store, 0);
  ASSERT_TRUE(columns.ok() && columns->bad_rows);
  ASSERT_EQ(columns->bad_rows->size(), 1u);
  const Status& bad = columns->bad_rows->at(1);
  EXPECT_EQ(bad.code(), Code::kCorrupt);
  EXPECT_NE(bad.message().find("line 2: byte 1"), std::string::npos) << bad.message();
}

TEST(LineSource, bytes_that_have_other_lines_than_the_index_says_are_corrupt) {
  Opened opened;
  opened.store->put("a.txt", "one\ntwo\n");
  const auto table = opened.table(LineRows::kAll, 1000);
  opened.store->put("a.txt", "one two\n");
  const LineSource source(*table, text_line_reader());
  const Result<Columns> columns = decoded(source, *opened.store, 0);
  ASSERT_FALSE(columns.ok());
  EXPECT_EQ(columns.status().code(), Code::kCorrupt);
}

TEST(LineSource, an_index_takes_a_few_bytes_for_a_block_and_none_for_a_line) {
  Opened opened;
  opened.store->put("a.txt", std::string(1 << 20, '\n'));
  const auto table = opened.table(LineRows::kAll, 1 << 16);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)->begins.back(), 1 << 20);
  EXPECT_LT((*table)->index_bytes(), 16u * 200);
}

TEST(LineSource, fewer_fields_are_the_same_values_under_another_identity) {
  Opened opened;
  opened.store->put("a.txt", "one\ntwo\n");
  const auto table = opened.table(LineRows::kAll, 1000);
  const LineSource source(*table, text_line_reader());
  const std::vector<std::string> key = {"key"};
  const auto narrowed = source.with_fields(key);
  ASSERT_TRUE(narrowed.ok());
  EXPECT_EQ(texts(**narrowed, *opened.store, "key"), texts(source, *opened.store, "key"));
  EXPECT_EQ((*narrowed)->version(), source.version());
  const std::vector<std::string> unknown = {"nothing"};
  EXPECT_EQ(source.with_fields(unknown).status().code(), Code::kInvalidArgument);
}

TEST(JsonLines, records_are_those_that_are_not_blank_whatever_the_size_of_blocks) {
  for (const uint64_t block_bytes : {3, 5, 8, 64, 1000}) {
    Opened opened;
    opened.store->put("a.txt", "\n{\"a\": \"1\"}\n   \n\r\n{\"a\": \"2\"}\n{\"a\": 3}\n{\"b\": 1}\n");
    const auto table = opened.table(LineRows::kNotBlank, block_bytes);
    ASSERT_TRUE(table.ok());
    const auto reader = json_line_reader({{"a", JsonType::kText, JsonInstead(std::string("none"))}});
    const LineSource source(*table, *reader);
    ASSERT_EQ(source.size(), 4);
    EXPECT_EQ(texts(source, *opened.store, "a"), (std::vector<std::string>{"1", "2", "none", "none"}));
    std::vector<std::string> bad;
    for (int64_t unit = 0; unit < source.units(); ++unit) {
      const Result<Columns> columns = decoded(source, *opened.store, unit);
      for (const auto& [row, status] : columns->bad_rows ? *columns->bad_rows : std::map<int64_t, Status>())
        bad.push_back(status.message());
    }
    ASSERT_EQ(bad.size(), 1u);
    EXPECT_TRUE(bad[0].starts_with("line 6: 'a' is a whole number here")) << bad[0];
  }
}

}  // namespace
}  // namespace forebay
