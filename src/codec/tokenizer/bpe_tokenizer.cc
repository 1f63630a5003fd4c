#include "codec/tokenizer/bpe_tokenizer.h"

#include <algorithm>

#include "codec/tokenizer/unicode_class.h"

namespace forebay {

Status BpeTokenizer::encode_text(std::string_view text, std::vector<int32_t>& ids) const {
  Scratch scratch;
  Status problem;
  raw_added_.split(
      text,
      [&](size_t begin, size_t end) {
        // split() always continues to its end; after the first error nothing more is done.
        if (problem.ok()) problem = encode_segment(text.substr(begin, end - begin), begin == 0, scratch, ids);
      },
      [&](int32_t id) { ids.push_back(id); });
  return problem;
}

Status BpeTokenizer::encode_segment(std::string_view text, bool begins, Scratch& scratch,
                                    std::vector<int32_t>& ids) const {
  NormalizedText normal;
  normal.first_char_bytes = begins ? char_at(text, 0).length : 0;
  if (!normalizer_.empty()) {
    normal.text = text;
    FOREBAY_RETURN_IF_ERROR(normalizer_.apply(normal));
    text = normal.text;
  }
  normalized_added_.split(
      text,
      [&](size_t begin, size_t end) {
        const size_t first = std::clamp(normal.first_char_bytes, begin, end) - begin;
        encode_words(text.substr(begin, end - begin), first, scratch, ids);
      },
      [&](int32_t id) { ids.push_back(id); });
  return {};
}

void BpeTokenizer::encode_words(std::string_view text, size_t first_char_bytes, Scratch& scratch,
                                std::vector<int32_t>& ids) const {
  if (pre_tokenizer_.empty()) return encode_part(text, scratch, ids);
  for (const NormalizedText& part : pre_tokenizer_.split({std::string(text), first_char_bytes}))
    encode_part(part.text, scratch, ids);
}

void BpeTokenizer::encode_part(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
  if (text.empty()) return;
  if (add_prefix_space_ && text.front() != ' ') {
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
  bool was_unknown = false;
  for (size_t i = 0; i < word.size(); ++i) {
    const int32_t id = (i + 1 == word.size() ? last_byte_ids_ : byte_ids_)[static_cast<uint8_t>(word[i])];
    const bool unknown = id == kNone;
    if (!unknown)
      scratch.word.push_back(id);
    else if (unknown_ && !(was_unknown && fuses_unknown_))
      scratch.word.push_back(*unknown_);
    was_unknown = unknown;
  }
  merge_tokens(merges_, scratch.word);
  ids.insert(ids.end(), scratch.word.begin(), scratch.word.end());
}

}  // namespace forebay
