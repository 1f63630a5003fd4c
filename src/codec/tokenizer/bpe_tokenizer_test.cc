#include "codec/tokenizer/bpe_tokenizer.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "codec/tokenizer/file_parts.h"

namespace forebay {
namespace {

using nlohmann::json;

std::string byte_char(int byte) {
  const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  static int others = 0;
  if (byte == 0) others = 0;
  const int code = printable ? byte : 0x100 + others++;
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

/// A tokenizer of all bytes, and "ab", "abc", "bc", "\u0120a" (a blank and an a).
json file() {
  json vocab;
  for (int byte = 0; byte < 256; ++byte) vocab[byte_char(byte)] = byte;
  vocab["ab"] = 300;
  vocab["bc"] = 301;
  vocab["abc"] = 302;
  vocab
      ["\xc4\xa0"
       "a"] = 303;
  return {
      {"added_tokens", json::array({{{"id", 400}, {"content", "<end>"}, {"special", true}, {"normalized", false}}})},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"post_processor", nullptr},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"b c", "a b", "a bc", "\xc4\xa0 a"}}}}};
}

Result<std::shared_ptr<const TextTokenizer>> parsed(const json& from) {
  const std::string text = from.dump();
  return TextTokenizer::parse({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::vector<int32_t> encoded(const json& from, std::string_view text, bool special = true) {
  const auto tokenizer = parsed(from);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  std::vector<int32_t> ids;
  if (tokenizer.ok()) {
    EXPECT_TRUE((*tokenizer)->encode(text, {.special = special}, ids).ok());
  }
  return ids;
}

using Ids = std::vector<int32_t>;

TEST(BpeTokenizer, merges_the_lowest_rank_first_and_of_equals_the_first) {
  EXPECT_EQ(encoded(file(), "abc"), (Ids{302}));  // b c, then a bc
  EXPECT_EQ(encoded(file(), "abab"), (Ids{300, 300}));
  EXPECT_EQ(encoded(file(), "x a"), (Ids{'x', 303}));
  EXPECT_EQ(encoded(file(), ""), Ids());
}

TEST(BpeTokenizer, added_tokens_are_found_wherever_they_stand) {
  EXPECT_EQ(encoded(file(), "a<end>b<end>"), (Ids{'a', 400, 'b', 400}));
  EXPECT_EQ(encoded(file(), "a<en"), (Ids{'a', '<', 'e', 'n'}));
}

// The ids are those of Hugging Face's tokenizers.
TEST(BpeTokenizer, a_blank_before_the_first_word_stands_only_there) {
  json from = file();
  from["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", true}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  EXPECT_EQ(encoded(from, "xy"), (Ids{226, 150, 129, 'x', 'y'}));
  EXPECT_EQ(encoded(from, "x y"), (Ids{226, 150, 129, 'x', 226, 150, 129, 'y'}));
  EXPECT_EQ(encoded(from, "x<end>y"), (Ids{226, 150, 129, 'x', 400, 'y'}));
  EXPECT_EQ(encoded(from, "<end>x"), (Ids{400, 'x'}));
  from["normalizer"] = {{"type", "Prepend"}, {"prepend", "z"}};
  EXPECT_EQ(encoded(from, "x<end>y"), (Ids{226, 150, 129, 'z', 'x', 400, 'z', 'y'}));
}

TEST(BpeTokenizer, puts_around_a_text_what_its_template_says) {
  json from = file();
  from["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", "<end>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}}}}}},
      {"special_tokens", {{"<end>", {{"id", "<end>"}, {"ids", {400}}}}}}};
  EXPECT_EQ(encoded(from, "ab"), (Ids{400, 300}));
  EXPECT_EQ(encoded(from, "ab", false), (Ids{300}));
}

TEST(BpeTokenizer, long_words_are_merged_as_short_ones_are) {
  std::mt19937 random(3);
  MergeTable table(200);
  for (uint32_t rank = 0; rank < 200; ++rank) {
    const auto left = static_cast<int32_t>(random() % (20 + rank)),
               right = static_cast<int32_t>(random() % (20 + rank));
    table.add(left, right, {rank, static_cast<int32_t>(20 + rank)});
  }
  const auto plain = [&](std::vector<int32_t> tokens) {
    for (;;) {
      size_t best = tokens.size();
      MergeTable::Merge merge;
      for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (const auto found = table.find(tokens[i], tokens[i + 1]); found.rank < merge.rank) merge = found, best = i;
      }
      if (best == tokens.size()) return tokens;
      tokens[best] = merge.made;
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
  };
  for (size_t length = 0; length < 300; ++length) {
    std::vector<int32_t> tokens(length);
    for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 20);
    const std::vector<int32_t> expected = plain(tokens);
    merge_tokens(table, tokens);
    EXPECT_EQ(tokens, expected) << length;
  }
}

TEST(BpeTokenizer, saved_truncation_and_padding_are_not_looked_at) {
  json from = file();
  from["truncation"] = {{"max_length", 1}, {"strategy", "LongestFirst"}, {"stride", 0}};
  from["padding"] = {{"strategy", {{"Fixed", 8}}}, {"pad_id", 0}};
  EXPECT_EQ(encoded(from, "abab"), (Ids{300, 300}));
}

TEST(BpeTokenizer, bytes_without_a_token_are_left_out_or_unknown) {
  json from = file();
  from["model"]["vocab"].erase("x");
  EXPECT_EQ(encoded(from, "axxb"), (Ids{300}));  // dropped, so their neighbours are merged
  from["model"]["unk_token"] =
      "\xc4\xa0"
      "a";
  EXPECT_EQ(encoded(from, "axxb"), (Ids{'a', 303, 303, 'b'}));
  from["model"]["fuse_unk"] = true;
  EXPECT_EQ(encoded(from, "axxb"), (Ids{'a', 303, 'b'}));
}

// As Hugging Face's tokenizers do it: the fallback replaces a name only if each of its bytes has a
// token.
TEST(BpeTokenizer, a_fallback_to_byte_tokens_is_refused_only_where_it_would_be_used) {
  json from = file();
  from["model"]["byte_fallback"] = true;
  from["model"]["vocab"].erase("x");
  from["model"]["vocab"]["<0x00>"] = 500;
  EXPECT_EQ(encoded(from, "axb"), (Ids{300})) << "no token replaces x";
  from["model"]["vocab"]["<0x78>"] = 501;
  EXPECT_EQ(parsed(from).status().code(), Code::kUnsupported);
  from["model"]["vocab"].erase("<0x00>");
  EXPECT_EQ(parsed(from).status().code(), Code::kUnsupported);

  from = file();
  from["model"]["byte_fallback"] = true;
  from["model"]["vocab"].erase("\xc4\x80");  // the name of the byte 0
  from["model"]["vocab"]["<0xC4>"] = 500;
  EXPECT_TRUE(parsed(from).ok());
  from["model"]["vocab"]["<0x80>"] = 501;
  EXPECT_EQ(parsed(from).status().code(), Code::kUnsupported);
}

/// A tokenizer as in Llama 2: characters, and byte tokens for all others.
json characters() {
  json vocab = {{"<unk>", 0}, {"\u2581", 1}, {"h", 2}, {"i", 3}, {"hi", 4}, {"\u2581hi", 5}};
  return {{"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", "\u2581"}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", vocab},
            {"merges", {"h i", "\u2581 hi"}},
            {"unk_token", "<unk>"},
            {"fuse_unk", true}}}};
}

TEST(BpeTokenizer, characters_are_merged_where_nothing_makes_bytes_of_them) {
  EXPECT_EQ(encoded(characters(), "hi hi"), (Ids{5, 5}));
  EXPECT_EQ(encoded(characters(), "hxyi"), (Ids{1, 2, 0, 3}));
  json from = characters();
  from["model"]["fuse_unk"] = false;
  EXPECT_EQ(encoded(from, "hxyi"), (Ids{1, 2, 0, 0, 3}));
  from["model"]["unk_token"] = nullptr;
  EXPECT_EQ(encoded(from, "hxyi"), (Ids{5}));
  from["model"]["byte_fallback"] = true;
  for (const auto& [text, id] : {std::pair{"<0xC3>", 10}, {"<0xA9>", 11}}) from["model"]["vocab"][text] = id;
  EXPECT_EQ(encoded(from, "h\u00e9i"), (Ids{1, 2, 10, 11, 3}));
}

TEST(BpeTokenizer, scores_are_read_with_the_bits_of_serde) {
  using tokenizer_file::parse_float;
  EXPECT_EQ(parse_float("-1.5"), -1.5);
  EXPECT_EQ(parse_float("0.0"), 0.0);
  EXPECT_EQ(parse_float("1e3"), 1000.0);
  EXPECT_EQ(parse_float("25E-1"), 2.5);
  EXPECT_EQ(parse_float("1e400"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(parse_float("1e-400"), 0.0);
  EXPECT_EQ(parse_float("123456789012345678901234567890"), 1.2345678901234567e29);
  // The value is one unit in the last place from the nearest double, in either direction.
  int differ = 0;
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    const double value = -15 * std::generate_canonical<double, 53>(random);
    const double read = parse_float(json(value).dump());
    differ += read != value;
    EXPECT_TRUE(read == value || read == std::nextafter(value, -100) || read == std::nextafter(value, 100)) << value;
  }
  EXPECT_GT(differ, 100);
}

TEST(BpeTokenizer, files_of_another_kind_are_named) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
  const Status status =
      TextTokenizer::parse({reinterpret_cast<const uint8_t*>(pointer.data()), pointer.size()}).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("git lfs pull"), std::string::npos) << status.message();
}

TEST(BpeTokenizer, what_it_is_not_made_for_is_refused_by_name) {
  const auto refused = [](const char* part, json value) {
    json from = file();
    from[json::json_pointer(part)] = std::move(value);
    return parsed(from).status();
  };
  EXPECT_EQ(refused("/normalizer", {{"type", "ByteLevel"}}).code(), Code::kUnsupported);
  EXPECT_EQ(refused("/model/type", "WordLevel").code(), Code::kUnsupported);
  EXPECT_EQ(refused("/model/dropout", 0.1).code(), Code::kUnsupported);
  EXPECT_EQ(refused("/pre_tokenizer", {{"type", "UnicodeScripts"}}).code(), Code::kUnsupported);
  EXPECT_EQ(refused("/model/unk_token", "<none>").code(), Code::kUnsupported);
  EXPECT_EQ(refused("/model/vocab/a", -1).code(), Code::kCorrupt);
  EXPECT_EQ(refused("/model/merges/0", "bc").code(), Code::kCorrupt);
  EXPECT_EQ(refused("/model/merges/0", "b z z").code(), Code::kCorrupt);
  EXPECT_EQ(refused("/model/vocab", json::array()).code(), Code::kCorrupt);
}

TEST(BpeTokenizer, files_cut_anywhere_are_an_answer) {
  const std::string text = file().dump();
  for (size_t length = 0; length < text.size(); length += 7) {
    const auto cut = TextTokenizer::parse({reinterpret_cast<const uint8_t*>(text.data()), length});
    EXPECT_EQ(cut.status().code(), Code::kCorrupt);
  }
}

}  // namespace
}  // namespace forebay
