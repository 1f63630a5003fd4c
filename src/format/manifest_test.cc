#include "format/manifest.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/list_limit.h"
#include "format/csv_reader.h"
#include "store/memory/memory_store.h"

namespace forebay {

namespace {

/// The text in pieces of `step` bytes.
NextPiece pieces(std::string text, size_t step) {
  return [text = std::move(text), step, at = size_t{0}]() mutable -> Result<std::string> {
    std::string piece = text.substr(at, step);
    at += piece.size();
    return piece;
  };
}

Result<ManifestTable> parse(ManifestFormat format, const std::string& text, size_t step = 1 << 20) {
  return parse_manifest(format, {}, pieces(text, step));
}
Result<ManifestTable> csv(const std::string& text) { return parse(ManifestFormat::kCsv, text); }
Result<ManifestTable> jsonl(const std::string& text) { return parse(ManifestFormat::kJsonl, text); }

std::vector<std::string> paths(const ManifestTable& table) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < table.paths.size(); ++i) all.emplace_back(table.paths.text(i));
  return all;
}
using Names = std::vector<std::string>;

std::string text_at(const Column& column, int64_t id) {
  const Value value = column.value(id);
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}
template <typename T>
T cell(const Column& column, int64_t id) {
  return *column.value(id).tensor.data<T>();
}

/// All values read, or the error, as a text that two readings are compared by.
std::string outcome(const Result<ManifestTable>& table) {
  if (!table.ok()) return table.status().to_string();
  Hasher hasher;
  for (const auto& path : paths(*table)) hasher.update(path + '\n');
  for (const Column& column : table->columns) column.hash(hasher);
  return hasher.digest().to_string();
}

std::filesystem::path shared_data() {
  const char* given = std::getenv("FOREBAY_SHARED");
  return std::filesystem::path(given != nullptr ? given : FOREBAY_SOURCE_DIR "/../shared") / "data";
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_error(const Status& status, Code code, const char* part) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

}  // namespace

TEST(ManifestCsv, TypesAreTheNarrowestThatFit) {
  const auto table = csv("path,i,f,b,t,mixed\na.jpg,1,1.5,true,x,1\nb.jpg,-2,3,false,,y\n").value();
  EXPECT_EQ(paths(table), (Names{"a.jpg", "b.jpg"}));
  ASSERT_EQ(table.columns.size(), 5u);
  EXPECT_EQ(cell<int64_t>(table.columns[0], 1), -2);
  EXPECT_EQ(cell<double>(table.columns[1], 0), 1.5);
  EXPECT_EQ(cell<double>(table.columns[1], 1), 3.0);
  EXPECT_EQ(table.columns[2].field().dtype, DType::kBool);
  EXPECT_EQ(cell<uint8_t>(table.columns[2], 0), 1);
  EXPECT_EQ(cell<uint8_t>(table.columns[2], 1), 0);
  EXPECT_EQ(text_at(table.columns[3], 1), "");
  EXPECT_EQ(text_at(table.columns[4], 0), "1");
  EXPECT_EQ(table.columns[4].field().kind, FieldKind::kText);
}

TEST(ManifestCsv, FollowsRfc4180) {
  const auto table = csv("\xef\xbb\xbf"
                         "path,t\r\n\"a,1.jpg\",\"say \"\"hi\"\"\"\r\n\"b\n2.jpg\",5\" disk\r\n\r\n\"\"\"q\"\"\",last")
                         .value();
  EXPECT_EQ(paths(table), (Names{"a,1.jpg", "b\n2.jpg", "\"q\""}));
  EXPECT_EQ(text_at(table.columns[0], 0), "say \"hi\"");
  EXPECT_EQ(text_at(table.columns[0], 1), "5\" disk");
  EXPECT_EQ(text_at(table.columns[0], 2), "last");
  EXPECT_EQ(paths(parse(ManifestFormat::kTsv, "path\tn\na,b\t1\n").value()), Names{"a,b"});
  EXPECT_EQ(csv(",path\n0,a\n").value().columns[0].field().name, "unnamed_0");
}

TEST(ManifestCsv, ErrorsNameTheLine) {
  expect_error(csv("path,n\na,1\nb\n").status(), Code::kCorrupt, "line 3: 1 field, the header has 2");
  expect_error(csv("path,n\n\"a\nb\",1\nc,2,3\n").status(), Code::kCorrupt, "line 4: 3 fields");
  expect_error(csv("path,n\na,1\nb,\n").status(), Code::kCorrupt, "line 3: 'n' is empty");
  expect_error(csv("path,n\na,1\n\"b,2\nc,3").status(), Code::kCorrupt, "line 3: this quote is never closed");
  expect_error(csv("path\n\"a\"b\n").status(), Code::kCorrupt, "line 2: text behind a closing quote");
  expect_error(csv("path,n\n,1\n").status(), Code::kCorrupt, "line 2: 'path' is empty");
  expect_error(csv("path,n,n\na,1,2\n").status(), Code::kCorrupt, "two columns are called 'n'");
  expect_error(csv("file,n\na,1\n").status(), Code::kInvalidArgument, "no column 'path'; the first line has: file, n");
  expect_error(csv("path,bytes\na,1\n").status(), Code::kInvalidArgument, "called 'bytes'");
  expect_error(csv("").status(), Code::kNotFound, "empty");
  expect_error(csv("path,n\n").status(), Code::kNotFound, "no rows");
}

TEST(ManifestCsv, RowsAndColumnsAreCapped) {
  std::string open_quote = "path\n\"";
  open_quote.append(CsvReader::kMaxRowBytes + 10, 'x');
  expect_error(csv(open_quote).status(), Code::kCorrupt, "line 2: a row of more than");
  expect_error(csv("path" + std::string(CsvReader::kMaxFields, ',') + "\n").status(), Code::kCorrupt, "columns");
}

TEST(ManifestJsonl, KeepsTheTypesOfJson) {
  const auto table = jsonl(
                         "{\"path\": \"a\", \"i\": 1, \"f\": 1, \"b\": true, \"t\": \"1\"}\n\n"
                         "{\"t\": \"\\u00e9\", \"b\": false, \"f\": 2.5, \"i\": -9, \"path\": \"b\"}")
                         .value();
  EXPECT_EQ(paths(table), (Names{"a", "b"}));
  EXPECT_EQ(cell<int64_t>(table.columns[0], 1), -9);
  EXPECT_EQ(cell<double>(table.columns[1], 0), 1.0);
  EXPECT_EQ(cell<double>(table.columns[1], 1), 2.5);
  EXPECT_EQ(table.columns[2].field().dtype, DType::kBool);
  EXPECT_EQ(text_at(table.columns[3], 1), "\xc3\xa9");
}

TEST(ManifestJsonl, ListsAndObjectsAreTheirText) {
  EXPECT_EQ(text_at(jsonl("{\"path\": \"a\", \"n\": [1, {\"b\": 2}]}").value().columns[0], 0), "[1,{\"b\":2}]");
}

TEST(ManifestJsonl, ErrorsNameTheLine) {
  expect_error(jsonl("{\"path\": \"a\", \"n\": 1}\n{\"path\": \"b\", \"n\": null}").status(), Code::kCorrupt,
               "line 2: 'n' is null");
  expect_error(jsonl("{\"path\": \"a\", \"n\": 1}\n{\"path\": \"b\"}").status(), Code::kCorrupt, "line 2: no 'n'");
  expect_error(jsonl("{\"path\": \"a\"}\n{\"path\": \"b\", \"n\": 1}").status(), Code::kCorrupt,
               "line 2: 'n' is not in");
  expect_error(jsonl("{\"path\": \"a\", \"n\": 1}\n\n{\"path\": \"b\", \"n\": \"x\"}").status(), Code::kCorrupt,
               "line 3: 'n' is text here and a number before");
  expect_error(jsonl("{\"path\": \"a\", \"path\": \"b\"}").status(), Code::kCorrupt, "twice");
  expect_error(jsonl("{\"path\": 1}").status(), Code::kCorrupt, "'path' is not text");
  expect_error(jsonl("[1]").status(), Code::kCorrupt, "line 1: each line must be a JSON object");
  expect_error(jsonl("{\"path\": \"a\"} x").status(), Code::kCorrupt, "line 1: no valid JSON");
  expect_error(jsonl("{\"n\": 1}").status(), Code::kInvalidArgument, "no column 'path'; there are: n");
  expect_error(jsonl(std::string(1'000'000, '[')).status(), Code::kCorrupt, "line 1");
}

TEST(Manifest, PiecesOfAnySizeGiveTheSame) {
  const std::string rows =
      "\xef\xbb\xbf"
      "path,n,t\r\n\"a\"\"\n,\",1,x\r\nb,2.5,\"\"\r\n";
  const std::string lines = "{\"path\": \"a\", \"n\": 1}\r\n{\"path\": \"b\", \"n\": 2.5}";
  for (size_t step = 1; step < rows.size() + 1; ++step) {
    EXPECT_EQ(outcome(parse(ManifestFormat::kCsv, rows, step)), outcome(csv(rows))) << step;
    EXPECT_EQ(outcome(parse(ManifestFormat::kJsonl, lines, step)), outcome(jsonl(lines))) << step;
  }
  EXPECT_TRUE(csv(rows).ok());
  EXPECT_TRUE(jsonl(lines).ok());
}

TEST(Manifest, OpensTheObjectsItLists) {
  auto store = memory_store();
  store->put("m/list.csv", "path,label\nx/1.jpg,7\nx/gone.jpg,8\n");
  store->put("m/x/1.jpg", "photo");
  store->put("elsewhere/x/1.jpg", "other photo");
  const auto source = open_manifest({store, "m/list.csv", ""}, {}, {}).value();
  EXPECT_EQ(source->size(), 2);
  EXPECT_EQ(source->schema().names(), "bytes, key, label");
  const auto fetch = source->as_samples()->fetch(0);
  EXPECT_EQ(fetch.request.key, "m/x/1.jpg");
  EXPECT_EQ(fetch.size, 5u);
  EXPECT_EQ(read_wait(*store, source->as_samples()->fetch(1).request, {}).status().code(), Code::kNotFound);
  const int64_t ids[] = {1, 0};
  int64_t labels[2];
  ASSERT_TRUE(source->as_samples()->gathers(2));
  ASSERT_TRUE(source->as_samples()->gather(2, ids, reinterpret_cast<uint8_t*>(labels)).ok());
  EXPECT_EQ(labels[0], 8);
  EXPECT_GT(source->index_bytes(), 16u);

  const auto rooted = open_manifest({store, "m/list.csv", ""}, {.root = "elsewhere"}, {}).value();
  EXPECT_EQ(rooted->as_samples()->fetch(0).size, 11u);
  EXPECT_FALSE(rooted->version() == source->version());
  store->put("m/list.csv", "path,label\nx/1.jpg,7\nx/gone.jpg,9\n");
  EXPECT_FALSE(open_manifest({store, "m/list.csv", ""}, {}, {}).value()->version() == source->version());
}

TEST(Manifest, PathsMayNotLeaveTheRoot) {
  auto store = memory_store();
  store->put("r/x", "1");
  for (const char* path : {"../x", "a/../../x", "/etc/passwd", "file:///etc/passwd"}) {
    store->put("list.csv", fmt::format("path\n{}\n", path));
    expect_error(open_manifest({store, "list.csv", ""}, {.root = "r"}, {}).status(), Code::kInvalidArgument, "row 1");
  }
  store->put("list.csv", "path\na/../x\n");
  EXPECT_EQ(open_manifest({store, "list.csv", ""}, {.root = "r"}, {}).status().code(), Code::kNotFound)
      << "stays below: allowed";
}

TEST(Manifest, MistakesOfANewUser) {
  auto store = memory_store();
  store->put("a.csv", "path\nx.jpg\n");
  store->put("a.txt", "x.jpg");
  store->put("a.json", "[]");
  store->put("s3.csv", "path\ns3://bucket/x\n");
  expect_error(open_manifest({store, "none.csv", ""}, {}, {}).status(), Code::kNotFound, "no such");
  expect_error(open_manifest({store, "a.xlsx", ""}, {}, {}).status(), Code::kInvalidArgument, ".csv");
  expect_error(open_manifest({store, "csv", ""}, {}, {}).status(), Code::kInvalidArgument, "ends in .csv");
  expect_error(open_manifest({store, "a.json", ""}, {}, {}).status(), Code::kUnsupported, ".jsonl");
  expect_error(open_manifest({store, "a.csv", ""}, {}, {}).status(), Code::kNotFound, "none of the 1 objects exists");
  expect_error(open_manifest({store, "s3.csv", ""}, {}, {}).status(), Code::kUnsupported, "another store");
  EXPECT_EQ(open_manifest({store, "a.csv", ""}, {}, {}).status().key(), "memory:a.csv");
}

TEST(Manifest, SurvivesMalformedFilesWithOneOutcome) {
  const auto malformed = shared_data() / "malformed";
  if (!std::filesystem::exists(malformed)) GTEST_SKIP() << "SHARED DATA ABSENT: " << malformed;
  int files = 0;
  for (const char* folder : {"csv", "json-suite", "json"}) {
    for (const auto& entry : std::filesystem::directory_iterator(malformed / folder)) {
      const std::string text = content(entry.path());
      for (const auto format : {ManifestFormat::kCsv, ManifestFormat::kTsv, ManifestFormat::kJsonl}) {
        // The header makes the parser reach the rows as well.
        for (const std::string& head : {std::string(), std::string("path\n"), std::string("{\"path\": \"a\"}\n")}) {
          const std::string once = outcome(parse(format, head + text));
          EXPECT_EQ(outcome(parse(format, head + text, 3)), once) << entry.path();
        }
      }
      ++files;
    }
  }
  EXPECT_GT(files, 200);
}

TEST(Manifest, JudgesTheJsonSuiteRightly) {
  const auto suite = shared_data() / "malformed/json-suite";
  if (!std::filesystem::exists(suite)) GTEST_SKIP() << "SHARED DATA ABSENT: " << suite;
  for (const auto& entry : std::filesystem::directory_iterator(suite)) {
    std::string text = content(entry.path());
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("n_") || text.find('\n') != std::string::npos) continue;
    // The value must not parse as the value of a member either.
    const Status status = jsonl("{\"path\": \"a\", \"v\": " + text + "}").status();
    EXPECT_FALSE(status.ok()) << name;
  }
}

namespace {

Result<ManifestTable> list(const std::string& text, Names columns, size_t step = 1 << 20) {
  ManifestLayout layout;
  layout.header = false;
  layout.columns = std::move(columns);
  return parse_manifest(ManifestFormat::kTextList, layout, pieces(text, step));
}

}  // namespace

TEST(TextList, fields_are_separated_as_the_first_line_says) {
  const Names kWant = {"n01/a.JPEG", "n02/b.JPEG"};
  for (const std::string text :
       {"n01/a.JPEG 0\nn02/b.JPEG 1\n", "n01/a.JPEG\t0\nn02/b.JPEG\t1", "n01/a.JPEG,0\nn02/b.JPEG,1\n",
        "n01/a.JPEG   0 \r\n\r\n  n02/b.JPEG\t1\r\n", "\xEF\xBB\xBFn01/a.JPEG 0\nn02/b.JPEG 1\n",
        "\xEF\xBB\xBF\nn01/a.JPEG,0\nn02/b.JPEG,1\n"}) {
    for (const size_t step : {size_t{1}, size_t{3}, size_t{1000}}) {
      const auto table = list(text, {"path", "label"}, step);
      ASSERT_TRUE(table.ok()) << text << table.status().to_string();
      EXPECT_EQ(paths(*table), kWant) << text;
      ASSERT_EQ(table->columns.size(), 1u);
      EXPECT_EQ(table->columns[0].field().dtype, DType::kInt64);
      EXPECT_EQ(cell<int64_t>(table->columns[0], 1), 1);
    }
  }
}

TEST(TextList, a_path_may_hold_commas_and_with_tabs_blanks) {
  EXPECT_EQ(paths(list("a,b.jpg 0\nc.jpg 1\n", {"path", "label"}).value()), (Names{"a,b.jpg", "c.jpg"}));
  EXPECT_EQ(paths(list("a b.jpg\t0\nc.jpg\t1\n", {"path", "label"}).value()), (Names{"a b.jpg", "c.jpg"}));
  expect_error(list("a.jpg 0\nc d.jpg 1\n", {"path", "label"}).status(), Code::kCorrupt,
               "line 2: 3 fields, columns= names 2");
}

TEST(Manifest, a_row_lists_no_more_objects_than_decoders_take) {
  const auto listing = [](size_t count) {
    std::string text = "{\"path\": [\"a\"]}\n{\"path\": [\"b\"";
    for (size_t i = 1; i < count; ++i) text += ",\"b\"";
    return jsonl(text + "]}\n");
  };
  const auto most = listing(kMostInList);
  ASSERT_TRUE(most.ok()) << most.status().to_string();
  EXPECT_EQ(most->paths.size(), static_cast<int64_t>(kMostInList + 1));
  expect_error(listing(kMostInList + 1).status(), Code::kUnsupported,
               "line 2: 'path' lists 65537 objects, and 65536 are the most of a sample");
}

TEST(TextList, mxnet_lists_have_the_path_last) {
  const auto table = list("0\t3.000000\tx/a.jpg\n1\t4.000000\tx/b.jpg\n", {"index", "label", "path"});
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ(paths(*table), (Names{"x/a.jpg", "x/b.jpg"}));
  EXPECT_EQ(table->columns[1].field().dtype, DType::kFloat64);
}

TEST(Manifest, no_message_leads_to_a_lost_first_row) {
  const std::string text = "n01/a.JPEG,0\nn02/b.JPEG,1\n";
  const Status none = csv(text).status();
  expect_error(none, Code::kInvalidArgument, "header=False and columns=[\"path\", …]");
  ManifestLayout taken;
  taken.path_column = "n01/a.JPEG";
  expect_error(parse_manifest(ManifestFormat::kCsv, taken, pieces(text, 100)).status(), Code::kInvalidArgument,
               "header=False");
  taken.path_column = "s3://bucket/a";
  expect_error(parse_manifest(ManifestFormat::kCsv, taken, pieces("s3://bucket/a,0\ns3://bucket/b,1\n", 100)).status(),
               Code::kInvalidArgument, "header=False");
}

TEST(Manifest, layouts_that_do_not_fit_are_refused) {
  const auto refused = [](ManifestFormat format, ManifestLayout layout) {
    return parse_manifest(format, layout, pieces("a,1\n", 100)).status();
  };
  expect_error(refused(ManifestFormat::kCsv, {.header = false}), Code::kInvalidArgument, "needs the names");
  expect_error(refused(ManifestFormat::kCsv, {.columns = {"path"}}), Code::kInvalidArgument, "give header=False");
  expect_error(refused(ManifestFormat::kJsonl, {.header = false, .columns = {"path"}}), Code::kInvalidArgument,
               "lists of text");
  expect_error(refused(ManifestFormat::kCsv, {.header = false, .columns = {"file", "n"}}), Code::kInvalidArgument,
               "no 'path'");
  expect_error(refused(ManifestFormat::kCsv, {.header = false, .columns = {"path", "path"}}), Code::kCorrupt,
               "two columns");
  expect_error(refused(ManifestFormat::kCsv, {.header = false, .columns = {"path"}}), Code::kCorrupt,
               "line 1: 2 fields");
}

TEST(Manifest, types_decide_whatever_values_look_like) {
  ManifestLayout layout;
  layout.types = {
      {"id", {.kind = FieldKind::kText}}, {"n", {.dtype = DType::kInt32}}, {"w", {.dtype = DType::kFloat32}}};
  const auto table = parse_manifest(ManifestFormat::kCsv, layout, pieces("path,id,n,w\na,7, 007,1\nb,8,+5,1e-1\n", 7));
  ASSERT_TRUE(table.ok()) << table.status().to_string();
  EXPECT_EQ(text_at(table->columns[0], 0), "7");
  EXPECT_EQ(cell<int32_t>(table->columns[1], 0), 7);
  EXPECT_EQ(cell<int32_t>(table->columns[1], 1), 5);
  EXPECT_EQ(cell<float>(table->columns[2], 1), 0.1f);
  const auto objects = parse_manifest(ManifestFormat::kJsonl, layout,
                                      pieces("{\"path\": \"a\", \"id\": 7, \"n\": \"007\", \"w\": 1}\n", 100));
  ASSERT_TRUE(objects.ok()) << objects.status().to_string();
  EXPECT_EQ(text_at(objects->columns[0], 0), "7");
  EXPECT_EQ(cell<int32_t>(objects->columns[1], 0), 7);
}

TEST(Manifest, types_that_do_not_fit_name_line_and_column) {
  const auto refused = [](ColumnTypes types) {
    ManifestLayout layout;
    layout.types = std::move(types);
    return parse_manifest(ManifestFormat::kCsv, layout, pieces("path,n\na,1\nb,300\nc,x\n", 100)).status();
  };
  expect_error(refused({{"n", {.dtype = DType::kUint8}}}), Code::kCorrupt,
               "line 3: 'n' is '300', but types= expects uint8");
  expect_error(refused({{"n", {.dtype = DType::kInt64}}}), Code::kCorrupt, "line 4: 'n' is 'x'");
  expect_error(refused({{"m", {.dtype = DType::kInt64}}}), Code::kInvalidArgument, "no column 'm'");
  expect_error(refused({{"path", {.dtype = DType::kInt64}}}), Code::kInvalidArgument, "holds the paths");
  expect_error(refused({{"n", {.kind = FieldKind::kBytes}}}), Code::kInvalidArgument, "give \"string\"");
}

TEST(Manifest, files_of_another_kind_are_named) {
  const auto store = memory_store();
  store->put("lfs.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
  store->put("page.csv", "<!DOCTYPE html>\n<html></html>\n");
  store->put("packed.csv", std::string("\x1F\x8B\x08\0\0\0\0\0", 8));
  store->put("wide.tsv", std::string("\xFF\xFEp\0a\0", 6));
  const auto said = [&](const char* name) { return open_manifest({store, name, ""}, {}, {}).status().message(); };
  EXPECT_NE(said("lfs.csv").find("git lfs pull"), std::string::npos) << said("lfs.csv");
  EXPECT_NE(said("page.csv").find("HTML page"), std::string::npos) << said("page.csv");
  EXPECT_NE(said("packed.csv").find("gunzip"), std::string::npos) << said("packed.csv");
  EXPECT_NE(said("wide.tsv").find("UTF-16"), std::string::npos) << said("wide.tsv");
  EXPECT_NE(said("list.csv.gz").find("unpack it first"), std::string::npos) << said("list.csv.gz");
}

}  // namespace forebay
