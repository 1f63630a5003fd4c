#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "codec/tokenizer/text_tokenizer.h"

namespace forebay {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

Result<std::shared_ptr<const TextTokenizer>> read(const json& from) {
  const std::string text = from.dump();
  return TextTokenizer::parse({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

Ids ids_of(const json& from, std::string_view text, TextTokenizer::EncodeOptions how = {}) {
  const auto tokenizer = read(from);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  Ids ids;
  if (tokenizer.ok()) {
    EXPECT_TRUE((*tokenizer)->encode(text, how, ids).ok());
  }
  return ids;
}

json normalize_bert() {
  return {
      {"added_tokens",
       json::array({{{"id", 4}, {"content", "[MASK]"}, {"normalized", false}, {"lstrip", true}, {"rstrip", true}}})},
      {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", true}, {"strip_accents", nullptr}}},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", json::array({{{"SpecialToken", {{"id", "[CLS]"}}}}, {{"Sequence", {{"id", "A"}}}}})},
        {"special_tokens", {{"[CLS]", {{"ids", {2}}}}}}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", "[UNK]"},
        {"max_input_chars_per_word", 6},
        {"vocab",
         {{"[UNK]", 1}, {"[CLS]", 2}, {"a", 10}, {"ab", 11}, {"##c", 12}, {"##cd", 13}, {"##d", 14}, {"!", 15}}}}}};
}

json unigram() {
  json vocab;
  const std::pair<const char*, double> pieces[] = {{"<unk>", 0}, {"\u2581", -1}, {"a", -2},
                                                   {"b", -2},    {"ab", -3.5},   {"\u2581ab", -5}};
  for (const auto& [text, score] : pieces) vocab.push_back(json::array({text, score}));
  return {{"pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}}},
          {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}}}};
}

TEST(WordPiece, takes_the_longest_piece_each_time_and_gives_up_a_word_as_a_whole) {
  EXPECT_EQ(ids_of(normalize_bert(), "abcd"), (Ids{2, 11, 13}));
  EXPECT_EQ(ids_of(normalize_bert(),
                   "\xc3\x81"
                   "Bc!a"),
            (Ids{2, 11, 12, 15, 10}));
  EXPECT_EQ(ids_of(normalize_bert(), "abx ab"), (Ids{2, 1, 11}));
  EXPECT_EQ(ids_of(normalize_bert(), "accccc accccccc"), (Ids{2, 10, 12, 12, 12, 12, 12, 1}));
  EXPECT_EQ(ids_of(normalize_bert(), " a [MASK] a", {.special = false}), (Ids{10, 4, 10}));
  EXPECT_EQ(ids_of(normalize_bert(), "a a a", {.most = 2}), (Ids{2, 10}));
}

TEST(Unigram, takes_the_pieces_of_the_greatest_sum) {
  EXPECT_EQ(ids_of(unigram(), "ab"), (Ids{1, 4}));
  EXPECT_EQ(ids_of(unigram(), "a b"), (Ids{1, 2, 1, 3}));
  EXPECT_EQ(ids_of(unigram(), "xyab"), (Ids{1, 0, 4}));
  EXPECT_EQ(ids_of(unigram(), ""), Ids());
}

TEST(Unigram, what_is_unknown_is_spelt_in_bytes_where_there_are_tokens_of_them) {
  json from = unigram();
  from["model"]["byte_fallback"] = true;
  for (const char* name : {"<0xC3>", "<0xA9>"}) from["model"]["vocab"].push_back(json::array({name, -9.0}));
  EXPECT_EQ(ids_of(from, "\xc3\xa9"), (Ids{1, 6, 7}));
  EXPECT_EQ(ids_of(from, "\xc3\xa8"), (Ids{1, 0}));
}

/// A table of one-byte characters, in SentencePiece's layout.
std::string table_of(const std::vector<std::pair<char, std::string>>& entries) {
  std::vector<uint32_t> units(1024, 0x80000000);  // a label that no byte has
  units[0] = 256 << 10;
  std::string texts(1, '\0'), bytes;
  for (const auto& [from, to] : entries) {
    const auto label = static_cast<uint32_t>(static_cast<uint8_t>(from));
    units[256 ^ label] = label | 1 << 8 | 512 << 10;
    units[256 ^ label ^ 512] = static_cast<uint32_t>(texts.size()) | 0x80000000;
    texts += to + '\0';
  }
  const auto size = static_cast<uint32_t>(units.size() * 4);
  bytes.append(reinterpret_cast<const char*>(&size), 4);
  bytes.append(reinterpret_cast<const char*>(units.data()), size);
  bytes += texts;
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string coded;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t held = 0;
    for (size_t i = 0; i < 3; ++i) held = held << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) coded += at + i <= bytes.size() ? kDigits[held >> (18 - 6 * i) & 63] : '=';
  }
  return coded;
}

TEST(Charsmap, its_entry_stands_for_all_of_what_a_reader_sees_as_one) {
  json from = unigram();
  from["normalizer"] = {{"type", "Precompiled"},
                        {"precompiled_charsmap", table_of({{'B', "b"}, {'x', ""}, {'y', "ab"}})}};
  EXPECT_EQ(ids_of(from, "B\xcc\x81"), (Ids{1, 3}));  // the accent is removed too
  EXPECT_EQ(ids_of(from, "xyx"), (Ids{1, 4}));
  // Too long for a single lookup.
  EXPECT_EQ(ids_of(from, "B\xcc\x81\xcc\x81\xcc\x81"), (Ids{1, 3, 0}));
}

TEST(PieceTokenizer, a_text_that_grows_beyond_measure_is_refused) {
  json from = unigram();
  json steps;
  for (int i = 0; i < 40; ++i)
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aaaa"}});
  from["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  const auto tokenizer = read(from);
  ASSERT_TRUE(tokenizer.ok());
  Ids ids = {7};
  EXPECT_EQ((*tokenizer)->encode("aa", {}, ids).code(), Code::kUnsupported);
  EXPECT_EQ(ids, Ids{7});
  EXPECT_TRUE((*tokenizer)->encode("b", {}, ids).ok());
}

TEST(PieceTokenizer, files_cut_anywhere_and_parts_of_any_type_are_an_answer) {
  for (const json& good : {normalize_bert(), unigram()}) {
    const std::string text = good.dump();
    for (size_t length = 0; length < text.size(); length += 3)
      EXPECT_FALSE(TextTokenizer::parse({reinterpret_cast<const uint8_t*>(text.data()), length}).ok());
    const json flat = good.flatten();
    for (const auto& [path, unused] : flat.items()) {
      for (const json& other : {json(nullptr), json(-1), json("x"), json::array(), json::object(), json(true)}) {
        json changed = good;
        changed[json::json_pointer(path)] = other;
        Ids ids;
        if (const auto tokenizer = read(changed); tokenizer.ok()) {
          EXPECT_TRUE((*tokenizer)->encode("ab \xc3\xa9 x", {}, ids).ok());
        }
      }
    }
  }
}

}  // namespace
}  // namespace forebay
