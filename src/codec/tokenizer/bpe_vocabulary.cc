#include "codec/tokenizer/bpe_vocabulary.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/tokenizer/file_parts.h"

namespace forebay {

namespace {

using nlohmann::json;
using namespace tokenizer_file;

/// ["a", "b"], or "a b" in files from before version 0.20.
Result<std::pair<std::string, std::string>> pair_of(const json& merge, uint32_t rank) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  const std::string both = text_of(merge);
  const size_t blank = both.find(' ');
  if (blank == std::string::npos) return malformed_tokenizer(fmt::format("merge {} is no pair", rank));
  return std::pair(both.substr(0, blank), both.substr(blank + 1));
}

Status add_merge(const json& merge, uint32_t rank, BpeVocabulary& to) {
  FOREBAY_ASSIGN(const auto pair, pair_of(merge, rank));
  const auto& [left, right] = pair;
  // The prefix of a continuation piece is not repeated inside a longer piece.
  if (right.size() < to.prefix.size())
    return malformed_tokenizer(fmt::format("merge {} is shorter than the prefix", rank));
  const auto a = to.ids.find(left), b = to.ids.find(right), made = to.ids.find(left + right.substr(to.prefix.size()));
  if (a == to.ids.end() || b == to.ids.end() || made == to.ids.end())
    return malformed_tokenizer(fmt::format("merge {} is of tokens that the vocab lacks", rank));
  to.merges.add(a->second, b->second, {rank, made->second});
  return {};
}

}  // namespace

Result<BpeVocabulary> BpeVocabulary::read(const json& model) {
  BpeVocabulary made;
  const json& vocabulary = member(model, "vocab");
  if (!vocabulary.is_object()) return malformed_tokenizer("its model has no vocab");
  if (!member(model, "dropout").is_null() && member(model, "dropout") != 0.0)
    return unsupported_tokenizer("has a dropout");
  made.prefix = text_of(member(model, "continuing_subword_prefix"));
  made.suffix = text_of(member(model, "end_of_word_suffix"));
  for (const auto& [text, id] : vocabulary.items()) {
    FOREBAY_ASSIGN(made.ids[text], id_of(id));
  }
  if (const json& unknown = member(model, "unk_token"); unknown.is_string()) {
    const auto found = made.ids.find(text_of(unknown));
    // The package accepts such a file, and fails at the first unknown character.
    if (found == made.ids.end())
      return unsupported_tokenizer(fmt::format("has an unk_token '{}' that its vocab lacks", text_of(unknown)));
    made.unknown = found->second;
  }
  const json& merges = member(model, "merges");
  if (!merges.is_array()) return malformed_tokenizer("its model has no merges");
  // Allocated at its final size, because tables do not grow.
  made.merges = MergeTable(merges.size());
  uint32_t rank = 0;
  for (const json& merge : merges) FOREBAY_RETURN_IF_ERROR(add_merge(merge, rank++, made));
  return made;
}

}  // namespace forebay
