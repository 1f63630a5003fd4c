#include <fstream>

#include "base/hash.h"
#include "ops/column/column_test_support.h"

namespace forebay {
namespace {

using ops_test::Table;

/// A file of this test, and its hash.
struct OwnFile {
  OwnFile(const std::string& name, const std::string& bytes)
      : path(testing::TempDir() + name), hash(hash128(bytes).to_string()) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~OwnFile() { std::filesystem::remove(path); }
  std::string path, hash;
};

std::vector<std::string> texts_of(const Columns& columns, const std::string& name) {
  const ColumnValues& column = columns.values[*columns.schema.find(name)];
  std::vector<std::string> found;
  for (int64_t row = 0; row < columns.rows; ++row)
    found.emplace_back(reinterpret_cast<const char*>(column.values.data()) + column.offset()[row],
                       static_cast<size_t>(column.offset()[row + 1] - column.offset()[row]));
  return found;
}

/// Every byte is a token, and so is "ab" (300).
std::string tokenizer_json() {
  Json vocab;
  uint32_t others = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    const uint32_t code = printable ? byte : others++;
    std::string name(1, static_cast<char>(code));
    if (code >= 0x80) name = {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
    vocab[name] = byte;
  }
  vocab["ab"] = 300;
  return Json{{"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
              {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"a b"}}}}}
      .dump();
}

TEST(ExtractText, gives_the_text_of_each_page_and_marks_those_that_have_none) {
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += "<div>";
  const Table table = Table(4).add_texts("text", {"<p>a<p>b", "", "caf\xe9", deep}, FieldKind::kBytes, 3);
  const Columns made = ops_test::run_columns(table.columns(), {{"extract_text", Json::object(), nullptr, ""}});
  ASSERT_TRUE(made.bad_rows);
  EXPECT_EQ(texts_of(made, "text")[0], "a\nb");
  EXPECT_EQ(texts_of(made, "text")[1], "");
  EXPECT_EQ(made.bad_rows->at(2).code(), Code::kCorrupt);
  EXPECT_EQ(made.bad_rows->at(3).code(), Code::kUnsupported);
  EXPECT_EQ(made.schema[0].kind, FieldKind::kText);
}

TEST(Tokenize, gives_ids_in_the_place_of_the_text) {
  const OwnFile file("tokenizer.json", tokenizer_json());
  const Table table = Table(3).add_texts("text", {"ab a", "", "\xff"}).add<int32_t>("label", DType::kInt32, {1, 2, 3});
  const Json args = {{"file", file.path}, {"hash", file.hash}};
  const Columns made = ops_test::run_columns(table.columns(), {{"tokenize", args, nullptr, ""}});
  ASSERT_TRUE(made.schema.find("tokens") && !made.schema.find("text"));
  EXPECT_EQ(ops_test::values_of<int32_t>(made, "tokens"), (std::vector<int32_t>{300, ' ', 'a'}));
  ASSERT_TRUE(made.bad_rows);
  EXPECT_EQ(made.bad_rows->at(2).code(), Code::kCorrupt);
}

TEST(Tokenize, another_file_than_the_one_described_is_refused) {
  const OwnFile file("tokenizer.json", tokenizer_json());
  const Table table = Table(1).add_texts("text", {"a"});
  const OpSpec spec = {"tokenize", {{"file", file.path}, {"hash", "0123"}}, nullptr, ""};
  const auto compiled = ops_test::op("tokenize").compile_columns(spec, table.columns().schema);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.status().code(), Code::kStateMismatch);
}

TEST(Tokenize, what_is_wrong_is_found_before_anything_is_read) {
  const auto problems = [](const Schema& before, Json args) {
    Schema schema = before;
    std::vector<Problem> found;
    ops_test::op("tokenize").infer({"tokenize", std::move(args), nullptr, ""}, schema, found);
    return found;
  };
  const Schema text = Table(1).add_texts("text", {"a"}).add<int32_t>("label", DType::kInt32, {1}).columns().schema;
  EXPECT_EQ(problems(text, {{"file", "x"}, {"hash", "y"}}).size(), 0u);
  EXPECT_EQ(problems(text, {{"file", "x"}}).size(), 1u);
  EXPECT_EQ(problems(text, {{"file", "x"}, {"hash", "y"}, {"field", "label"}}).size(), 1u);
  EXPECT_EQ(problems(text, {{"file", "x"}, {"hash", "y"}, {"field", "other"}}).size(), 1u);
  EXPECT_EQ(problems(text, {{"file", "x"}, {"hash", "y"}, {"into", "label"}}).size(), 1u);
  EXPECT_EQ(problems(text, {{"hash", "y"}}).size(), 1u);
}

}  // namespace
}  // namespace forebay
