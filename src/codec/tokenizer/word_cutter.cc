#include "codec/tokenizer/word_cutter.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/tokenizer/file_parts.h"
#include "codec/tokenizer/normalizer_steps.h"
#include "codec/tokenizer/unicode_class.h"
#include "codec/tokenizer/unicode_text.h"

namespace forebay {

using nlohmann::json;
using namespace tokenizer_file;

namespace {

constexpr int kMostCutters = 16;

void add_word(const NormalText& of, size_t begin, size_t end, std::vector<NormalText>& words) {
  if (end <= begin) return;
  const size_t first = std::clamp(of.first_bytes, begin, end) - begin;
  words.push_back({of.text.substr(begin, end - begin), first});
}

/// What a character does to the word before it.
enum class Cut : uint8_t { kNone, kDrop, kAlone, kChange };

/// `cut(code, before)`: kChange: a word begins here.
template <typename Each>
void cut_where(const NormalText& text, std::vector<NormalText>& words, Each cut) {
  size_t begin = 0;
  for (size_t at = 0; at < text.text.size();) {
    const Utf8Char next = char_at(text.text, at);
    const Cut what = cut(next.code);
    if (what != Cut::kNone) {
      add_word(text, begin, at, words);
      begin = what == Cut::kChange ? at : at + next.length;
      if (what == Cut::kAlone) add_word(text, at, begin, words);
    }
    at += next.length;
  }
  add_word(text, begin, text.text.size(), words);
}

}  // namespace

std::vector<NormalText> WordCutter::cut(NormalText text) const {
  std::vector<NormalText> words, cut;
  if (!text.text.empty()) words.push_back(std::move(text));
  for (const Step& step : steps_) {
    cut.clear();
    for (NormalText& word : words) cut_one(step, std::move(word), cut);
    std::swap(words, cut);
  }
  return words;
}

void WordCutter::cut_one(const Step& step, NormalText&& text, std::vector<NormalText>& words) {
  using unicode::is_space;
  switch (step.kind) {
    case Step::Kind::kBlanks:
      return cut_where(text, words, [](uint32_t code) { return is_space(code) ? Cut::kDrop : Cut::kNone; });
    case Step::Kind::kBert:
      return cut_where(text, words, [](uint32_t code) {
        if (is_space(code)) return Cut::kDrop;
        return unicode::is_punctuation(code) ? Cut::kAlone : Cut::kNone;
      });
    case Step::Kind::kWords: {
      bool in_word = false;
      return cut_where(text, words, [&](uint32_t code) {
        if (is_space(code)) return Cut::kDrop;
        const bool was = std::exchange(in_word, unicode::is_word(code));
        return was == in_word ? Cut::kNone : Cut::kChange;
      });
    }
    case Step::Kind::kMetaspace: return cut_metaspace(step, std::move(text), words);
  }
}

void WordCutter::cut_metaspace(const Step& step, NormalText&& text, std::vector<NormalText>& words) {
  const bool first = text.first_bytes > 0;
  normalize_step::replace(text, " ", step.sign);
  if (step.before != Blank::kNever && (step.before == Blank::kAlways || first) && !text.text.starts_with(step.sign))
    normalize_step::prepend(text, step.sign);
  if (!step.cuts) return add_word(text, 0, text.text.size(), words);
  size_t begin = 0;
  while (begin < text.text.size()) {
    // The sign begins a word and stays with it.
    const size_t next = std::min(text.text.find(step.sign, begin + 1), text.text.size());
    add_word(text, begin, next, words);
    begin = next;
  }
}

Result<WordCutter> WordCutter::parse(const json& part) {
  WordCutter made;
  FOREBAY_RETURN_IF_ERROR(made.add(part, 0));
  return made;
}

Status WordCutter::add(const json& part, int depth) {
  if (part.is_null()) return {};
  const std::string type = type_of(part);
  if (type == "Sequence") {
    if (depth == kMostCutters) return other_kind("has pre-tokenizers in one another too deep");
    for (const json& each : member(part, "pretokenizers")) FOREBAY_RETURN_IF_ERROR(add(each, depth + 1));
    return {};
  }
  if (type == "Metaspace") return add_metaspace(part);
  if (type == "BertPreTokenizer")
    steps_.push_back({.kind = Step::Kind::kBert});
  else if (type == "Whitespace")
    steps_.push_back({.kind = Step::Kind::kWords});
  else if (type == "WhitespaceSplit")
    steps_.push_back({.kind = Step::Kind::kBlanks});
  else
    return other_kind(fmt::format("cuts words by '{}'", type));
  return {};
}

Status WordCutter::add_metaspace(const json& part) {
  Step step{
      .kind = Step::Kind::kMetaspace, .sign = text_of(member(part, "replacement")), .cuts = says(part, "split", true)};
  if (step.sign.empty() || char_at(step.sign, 0).length != step.sign.size())
    return no_tokenizer("its Metaspace has a replacement that is no character");
  const std::string scheme = text_of(member(part, "prepend_scheme"));
  if (scheme == "first")
    step.before = Blank::kFirst;
  else if (scheme == "never")
    step.before = Blank::kNever;
  else if (!scheme.empty() && scheme != "always")
    return other_kind(fmt::format("has a Metaspace that prepends '{}'", scheme));
  if (!says(part, "add_prefix_space", true) && step.before != Blank::kNever)
    return no_tokenizer("its Metaspace says two things of the blank before a text");
  steps_.push_back(std::move(step));
  return {};
}

}  // namespace forebay
