#include "codec/bpe/tokenizer.h"

namespace forebay {

void BpeTokenizer::encode(std::string_view text, const Encoding& how, std::vector<int32_t>& ids) const {
  Scratch scratch;
  if (how.special) ids.insert(ids.end(), before_.begin(), before_.end());
  const size_t begin = ids.size();
  split(text, 0, scratch, ids);
  const size_t most = how.most - (how.special ? special_ids() : 0);
  if (ids.size() - begin > most) ids.resize(begin + most);
  if (how.special) ids.insert(ids.end(), behind_.begin(), behind_.end());
}

const BpeTokenizer::Added* BpeTokenizer::next_added(const AddedTokens& added, std::string_view text, size_t& at) {
  for (; at < text.size(); ++at) {
    for (const Added& one : added[static_cast<uint8_t>(text[at])]) {
      if (text.substr(at).starts_with(one.text)) return &one;
    }
  }
  return nullptr;
}

void BpeTokenizer::split(std::string_view text, size_t pass, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (pass == added_.size()) return encode_words(text, scratch, ids);
  if (!any_added_[pass]) return split(text, pass + 1, scratch, ids);
  size_t begin = 0;
  for (size_t at = 0;;) {
    const Added* const found = next_added(added_[pass], text, at);
    if (at > begin) split(text.substr(begin, at - begin), pass + 1, scratch, ids);
    if (found == nullptr) return;
    ids.push_back(found->id);
    begin = at += found->text.size();
  }
}

void BpeTokenizer::encode_words(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (text.empty()) return;
  if (blank_before_ && text.front() != ' ') {
    scratch.text.assign(1, ' ').append(text);
    text = scratch.text;
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(pattern_, text, at);
    encode_word(text.substr(at, end - at), scratch, ids);
    at = end;
  }
}

void BpeTokenizer::encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (ignores_merges_) {
    const auto whole = whole_words_.find(std::string(word));
    if (whole != whole_words_.end()) return ids.push_back(whole->second);
  }
  scratch.word.clear();
  for (const char byte : word) scratch.word.push_back(of_byte_[static_cast<uint8_t>(byte)]);
  merge_tokens(merges_, scratch.word);
  ids.insert(ids.end(), scratch.word.begin(), scratch.word.end());
}

}  // namespace forebay
