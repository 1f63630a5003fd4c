#include "format/lines/line_source.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

Result<Columns> decoded(const ChunkSource& source, Store& store, int64_t chunk) {
  const ChunkSource::ChunkFetch fetch = source.chunk_fetch(chunk);
  std::vector<Buffer> buffers;
  for (const ReadRequest& request : fetch.requests) {
    FOREBAY_ASSIGN(Buffer bytes, read_wait(store, request, {}));
    buffers.push_back(std::move(bytes));
  }
  WorkMemory memory;
  return source.decode(chunk, std::move(buffers), memory);
}

/// All values of a field of text.
std::vector<std::string> texts(const ChunkSource& source, Store& store, const std::string& name) {
  std::vector<std::string> found;
  for (int64_t chunk = 0; chunk < source.chunks(); ++chunk) {
    const Result<Columns> columns = decoded(source, store, chunk);
    EXPECT_TRUE(columns.ok()) << columns.status().to_string();
    if (!columns.ok()) return found;
    EXPECT_TRUE(columns->check().ok()) << columns->check().to_string();
    EXPECT_LE(columns->nbytes(), source.chunk_cost(chunk).decoded_bytes);
    EXPECT_EQ(columns->rows, source.chunk_begin(chunk + 1) - source.chunk_begin(chunk));
    const ColumnValues& column = columns->values[*columns->schema.find(name)];
    for (int64_t row = 0; row < columns->rows; ++row) {
      const auto begin = static_cast<size_t>(column.offset()[row]), end = static_cast<size_t>(column.offset()[row + 1]);
      found.emplace_back(reinterpret_cast<const char*>(column.values.data()) + begin, end - begin);
    }
  }
  return found;
}

struct Utf8Char {
  uint32_t code = 0;
  size_t length = 1;
};

Utf8Char char_of(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i])); };
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) < 0xE0) return {(byte(0) & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (byte(0) < 0xF0) return {(byte(0) & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(byte(0) & 7) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
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
    for (int64_t chunk = 0; chunk < source.chunks(); ++chunk) {
      const Result<Columns> columns = decoded(source, *opened.store, chunk);
      for (const auto& [row, status] : columns->bad_rows ? *columns->bad_rows : std::map<int64_t, Status>())
        bad.push_back(status.message());
    }
    ASSERT_EQ(bad.size(), 1u);
    EXPECT_TRUE(bad[0].starts_with("line 6: 'a' is a whole number here")) << bad[0];
  }
}

using Json = nlohmann::json;

/// A text in UTF-16 with a byte order mark.
std::string wide(const std::string& text, bool little) {
  std::u16string chunks = u"\uFEFF";
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = char_of(text, at);
    if (c.code < 0x10000) {
      chunks += static_cast<char16_t>(c.code);
    } else {
      chunks += static_cast<char16_t>(0xD800 + ((c.code - 0x10000) >> 10));
      chunks += static_cast<char16_t>(0xDC00 + ((c.code - 0x10000) & 0x3FF));
    }
    at += c.length;
  }
  std::string bytes;
  for (const char16_t chunk : chunks) {
    const char low = static_cast<char>(chunk & 0xFF), high = static_cast<char>(chunk >> 8);
    bytes += little ? low : high;
    bytes += little ? high : low;
  }
  return bytes;
}

Json random_value(std::mt19937& random, int depth) {
  const std::vector<Json> kScalars = {1, -2.5, true, nullptr, "", "a]b", "\"quoted\" \\ [{", "größe 𝄞", "1,2"};
  const uint32_t kind = random() % (depth > 2 ? 1 : 3);
  if (kind == 0) return kScalars[random() % kScalars.size()];
  Json value = kind == 1 ? Json::array() : Json::object();
  for (uint32_t i = random() % 4; i > 0; --i) {
    if (kind == 1)
      value.push_back(random_value(random, depth + 1));
    else
      value["k" + std::to_string(i)] = random_value(random, depth + 1);
  }
  return value;
}

std::string joined(const std::vector<Json>& values, const std::string& between, int indent) {
  std::string text;
  for (const Json& value : values) text += (text.empty() ? "" : between) + value.dump(indent);
  return text;
}

TEST(LineSource, records_are_the_same_in_every_form_of_a_file) {
  std::mt19937 random(5);
  for (int tried = 0; tried < 40; ++tried) {
    std::vector<Json> records;
    std::vector<std::string> expected;
    for (uint32_t i = 2 + random() % 20; i > 0; --i) {
      records.push_back({{"v", random_value(random, 0)}, {"id", i}});
      if (records.back()["v"].is_null()) records.back()["v"] = 0;
      expected.push_back(records.back()["v"].dump());
    }
    const std::vector<std::string> forms = {joined(records, "\n", -1) + "\n",
                                            joined(records, "\r\n", -1),
                                            Json(records).dump(),
                                            Json(records).dump(2) + "\n",
                                            joined(records, "\n", 4) + "\n",
                                            "[" + joined(records, ",\n", -1) + "]\n",
                                            "\n  " + Json(records).dump(1),
                                            "[\n" + joined(records, "\n,\n", 2) + "\n]"};
    for (const std::string& form : forms) {
      for (const std::string& content : {form, "\xEF\xBB\xBF" + form, wide(form, true), wide(form, false)}) {
        for (const uint64_t block_bytes : {7, 64, 1 << 20}) {
          Opened opened;
          opened.store->put("a.json", content);
          const auto table = opened.table(LineRows::kNotBlank, block_bytes, "*.json");
          ASSERT_TRUE(table.ok()) << table.status().to_string() << "\n" << form;
          const LineSource source(*table, json_line_reader({{"v", JsonType::kJson, {}}}).value());
          ASSERT_EQ(texts(source, *opened.store, "v"), expected) << block_bytes << "\n" << form;
        }
      }
    }
  }
}

TEST(LineSource, one_document_of_json_is_one_record_and_a_list_its_elements) {
  const std::pair<std::string, std::vector<std::string>> kTable[] = {
      {"{\n  \"value\": 1\n}", {"1"}},     {"[1, 2, 3]", {"1", "2", "3"}}, {"[\n \"a\",\n [2]\n]\n", {"\"a\"", "[2]"}},
      {"[1, 2]\n[3]\n", {"[1,2]", "[3]"}}, {"[1]\n\n[2]", {"[1]", "[2]"}}, {"[]", {}},
  };
  for (const auto& [content, expected] : kTable) {
    Opened opened;
    opened.store->put("a.json", content);
    const auto table = opened.table(LineRows::kNotBlank, 1 << 20, "*.json");
    ASSERT_TRUE(table.ok()) << table.status().to_string();
    const LineSource source(*table, json_line_reader({{"value", JsonType::kJson, {}}}).value());
    EXPECT_EQ(texts(source, *opened.store, "value"), expected) << content;
  }
}

TEST(LineSource, a_record_that_is_cut_off_is_bad_alone_and_a_list_is_told_at_once) {
  Opened opened;
  for (const std::string first : {"{\"v\": 1, \"w\": ", "{\"v\": 1,", "{\"v\": 1, \"w"}) {
    opened.store->put("a.json", first + "\n{\"v\": 2}\n{\"v\": 3}\n");
    const LineSource source(opened.table(LineRows::kNotBlank, 1 << 20, "a.json").value(),
                            json_line_reader({{"v", JsonType::kInt64, {}}}).value());
    const Columns columns = decoded(source, *opened.store, 0).value();
    EXPECT_EQ(columns.rows, 3);
    ASSERT_TRUE(columns.bad_rows);
    EXPECT_EQ(columns.bad_rows->size(), 1u);
  }
  opened.store->put("c.json", "[{\"v\": 1}, {\"v\": 2");
  const Status cut = opened.table(LineRows::kNotBlank, 1 << 20, "c.json").status();
  EXPECT_EQ(cut.code(), Code::kCorrupt);
  EXPECT_NE(cut.to_string().find("c.json"), std::string::npos) << cut.to_string();
  EXPECT_NE(cut.message().find("1 values end before"), std::string::npos) << cut.message();
}

TEST(LineSource, lines_of_utf16_are_those_of_utf8) {
  const std::string text = "one\r\n\nzwölf 𝄞\nlast";
  for (const bool little : {true, false}) {
    Opened opened;
    opened.store->put("a.txt", wide(text, little));
    const LineSource source(opened.table(LineRows::kAll, 5).value(), text_line_reader());
    EXPECT_EQ(texts(source, *opened.store, "text"), (std::vector<std::string>{"one", "", "zwölf 𝄞", "last"}));
  }
}

TEST(LineSource, files_that_are_no_text_are_named) {
  const auto said = [](LineRows rows, const std::string& content) {
    Opened opened;
    opened.store->put("good.txt", "{}\n");
    opened.store->put("z.txt", content);
    return opened.table(rows, 1 << 20).status().to_string();
  };
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
  for (const LineRows rows : {LineRows::kAll, LineRows::kNotBlank}) {
    EXPECT_NE(said(rows, pointer).find("NotFound: memory:z.txt: expected data, found a Git LFS pointer"),
              std::string::npos)
        << said(rows, pointer);
    EXPECT_NE(said(rows, std::string("\x1F\x8B\x08\0\0", 5)).find("unpack it first (`gunzip`)"), std::string::npos);
    EXPECT_NE(said(rows, "PAR1\x15\x04\x15").find("read it with `parquet`"), std::string::npos);
  }
  EXPECT_NE(said(LineRows::kNotBlank, "<!DOCTYPE html><html>").find("an HTML page"), std::string::npos);
  EXPECT_EQ(said(LineRows::kAll, "<!DOCTYPE html><html>"), "Ok");
}

TEST(LineSource, nan_is_named_and_read_as_it_is_wished) {
  Opened opened;
  opened.store->put(
      "a.json", "{\"v\": NaN, \"t\": \"NaN\"}\n{\"v\": -Infinity, \"t\": \"-\"}\n{\"v\": 1.5, \"t\": \"Infinity\"}\n");
  const auto table = opened.table(LineRows::kNotBlank, 1 << 20, "*.json").value();
  const std::vector<JsonField> fields = {{"v", JsonType::kFloat64, {}}, {"t", JsonType::kText, {}}};
  const LineSource strict(table, json_line_reader(fields).value());
  const auto bad = decoded(strict, *opened.store, 0).value().bad_rows;
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->size(), 2u);
  EXPECT_NE(bad->at(0).message().find("'NaN' at character 7 is no JSON; nan=\"keep\""), std::string::npos)
      << bad->at(0).message();
  const LineSource kept(table, json_line_reader(fields, NanPolicy::kKeep).value());
  const Columns columns = decoded(kept, *opened.store, 0).value();
  EXPECT_FALSE(columns.bad_rows);
  const auto* const values = reinterpret_cast<const double*>(columns.values[0].values.data());
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(values[2], 1.5);
  EXPECT_EQ(texts(kept, *opened.store, "t"), (std::vector<std::string>{"NaN", "-", "Infinity"}));
  std::vector<JsonField> filled = fields;
  filled[0].instead = -1.0;
  const LineSource null(table, json_line_reader(filled, NanPolicy::kNull).value());
  const Columns without = decoded(null, *opened.store, 0).value();
  EXPECT_EQ(reinterpret_cast<const double*>(without.values[0].values.data())[1], -1.0);
  EXPECT_FALSE(kept.version() == strict.version());
  const auto found = find_json_fields(*table, NanPolicy::kKeep, {}).value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].type, JsonType::kFloat64);
}

}  // namespace
}  // namespace forebay
