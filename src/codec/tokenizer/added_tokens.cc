#include "codec/tokenizer/added_tokens.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "codec/tokenizer/file_parts.h"
#include "codec/tokenizer/unicode_class.h"
#include "codec/tokenizer/unicode_text.h"

namespace forebay {

namespace {

size_t char_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) --at;
  return at;
}

bool word_at(std::string_view text, size_t at) { return unicode::is_word(char_at(text, at).code); }
bool space_at(std::string_view text, size_t at) { return unicode::is_space(char_at(text, at).code); }

}  // namespace

Result<std::vector<AddedToken>> read_added_tokens(const nlohmann::json& list) {
  using namespace tokenizer_file;
  std::vector<AddedToken> found;
  if (list.is_null()) return found;
  if (!list.is_array()) return malformed_tokenizer("its added_tokens are no list");
  for (const auto& one : list) {
    if (!member(one, "content").is_string()) return malformed_tokenizer("an added token has no content");
    AddedToken token{.text = text_of(member(one, "content")),
                     .single_word = bool_member(one, "single_word", false),
                     .strips_left = bool_member(one, "lstrip", false),
                     .strips_right = bool_member(one, "rstrip", false),
                     .normalized = bool_member(one, "normalized", false)};
    FOREBAY_ASSIGN(token.id, id_of(member(one, "id")));
    found.push_back(std::move(token));
  }
  return found;
}

void AddedTokens::add(AddedToken token) {
  if (token.text.empty()) return;
  auto& same_first = by_first_[static_cast<uint8_t>(token.text[0])];
  const auto longer = [&](const AddedToken& one) { return one.text.size() >= token.text.size(); };
  // Inserted after tokens of the same length, because the first of equal texts counts.
  same_first.insert(std::ranges::find_if_not(same_first, longer), std::move(token));
  empty_ = false;
}

const AddedToken* AddedTokens::next(std::string_view text, size_t& at) const {
  for (; at < text.size(); ++at) {
    for (const AddedToken& one : by_first_[static_cast<uint8_t>(text[at])]) {
      if (text.substr(at).starts_with(one.text)) return &one;
    }
  }
  return nullptr;
}

AddedTokens::Match AddedTokens::match_at(const AddedToken& token, std::string_view text, size_t begin, size_t end,
                                         size_t min_begin) {
  if (token.single_word &&
      ((begin > 0 && word_at(text, char_before(text, begin))) || (end < text.size() && word_at(text, end))))
    return {.taken = false};
  if (token.strips_left) {
    while (begin > min_begin && space_at(text, char_before(text, begin))) begin = char_before(text, begin);
    begin = std::max(begin, min_begin);
  }
  if (token.strips_right) {
    while (end < text.size() && space_at(text, end)) end += char_at(text, end).length;
  }
  return {true, begin, end};
}

}  // namespace forebay
