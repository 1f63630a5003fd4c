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

/// How a character ends the word before it.
enum class Cut : uint8_t { kNone, kDrop, kAlone, kChange };

/// `cut(code, before)` returns the cut; kChange begins a word at the character.
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
    case Step::Kind::kDigits:
    case Step::Kind::kPunctuation:
    case Step::Kind::kText: {
      std::vector<Piece> pieces = pieces_of(step, text.text);
      join(step.behavior, pieces);
      for (const Piece& piece : pieces) {
        if (step.behavior != Behavior::kRemoved || !piece.match) add_word(text, piece.begin, piece.end, words);
      }
    }
  }
}

std::vector<WordCutter::Piece> WordCutter::pieces_of(const Step& step, std::string_view text) {
  std::vector<Piece> pieces;
  size_t done = 0;
  const auto match = [&](size_t begin, size_t end) {
    if (begin > done) pieces.push_back({done, begin, step.inverts});
    pieces.push_back({begin, end, !step.inverts});
    done = end;
  };
  if (step.kind == Step::Kind::kText) {
    for (size_t at = text.find(step.sign); at != std::string_view::npos; at = text.find(step.sign, done))
      match(at, at + step.sign.size());
  } else {
    for (size_t at = 0; at < text.size();) {
      const Utf8Char next = char_at(text, at);
      const bool taken = step.kind == Step::Kind::kDigits ? char_class(next.code) == CharClass::kNumber
                                                          : unicode::is_punctuation(next.code);
      if (taken) match(at, at + next.length);
      at += next.length;
    }
  }
  if (done < text.size()) pieces.push_back({done, text.size(), step.inverts});
  return pieces;
}

void WordCutter::join(Behavior behavior, std::vector<Piece>& pieces) {
  if (behavior == Behavior::kRemoved || behavior == Behavior::kIsolated || pieces.empty()) return;
  // Matches join the previous word. If they join the next one, the words are processed from the
  // end.
  const bool backward = behavior == Behavior::kNext;
  if (backward) std::ranges::reverse(pieces);
  std::vector<Piece> joined;
  bool was_match = false;
  for (const Piece& piece : pieces) {
    const bool joins = behavior == Behavior::kContiguous ? !joined.empty() && piece.match == was_match
                                                         : piece.match && !was_match && !joined.empty();
    if (!joins)
      joined.push_back(piece);
    else if (backward)
      joined.back().begin = piece.begin;
    else
      joined.back().end = piece.end;
    was_match = piece.match;
  }
  if (backward) std::ranges::reverse(joined);
  pieces = std::move(joined);
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
    return add_split(part);
  return {};
}

Status WordCutter::add_split(const json& part) {
  const std::string type = type_of(part);
  Step step{.kind = Step::Kind::kText};
  if (type == "Digits") {
    step.kind = Step::Kind::kDigits;
    if (!says(part, "individual_digits", false)) step.behavior = Behavior::kContiguous;
  } else if (type == "Punctuation") {
    step.kind = Step::Kind::kPunctuation;
    FOREBAY_RETURN_IF_ERROR(set_behavior(part, step));
  } else if (type == "CharDelimiterSplit") {
    step.sign = text_of(member(part, "delimiter"));
    step.behavior = Behavior::kRemoved;
  } else if (type == "Split") {
    const json& pattern = member(part, "pattern");
    step.sign = text_of(member(pattern, "String"));
    step.inverts = says(part, "invert", false);
    if (const json& regex = member(pattern, "Regex"); !regex.is_null())
      return other_kind(fmt::format("cuts words by the pattern '{}'", text_of(regex)));
    FOREBAY_RETURN_IF_ERROR(set_behavior(part, step));
  } else {
    return other_kind(fmt::format("cuts words by '{}'", type));
  }
  if (step.kind == Step::Kind::kText && step.sign.empty()) return other_kind("cuts words by an empty text");
  steps_.push_back(std::move(step));
  return {};
}

Status WordCutter::set_behavior(const json& part, Step& step) const {
  const std::pair<std::string_view, Behavior> kWords[] = {{"Removed", Behavior::kRemoved},
                                                          {"Isolated", Behavior::kIsolated},
                                                          {"MergedWithPrevious", Behavior::kPrevious},
                                                          {"MergedWithNext", Behavior::kNext},
                                                          {"Contiguous", Behavior::kContiguous}};
  const std::string word = text_of(member(part, "behavior"));
  const auto* const found = std::ranges::find(kWords, word, &std::pair<std::string_view, Behavior>::first);
  if (!word.empty() && found == std::end(kWords))
    return other_kind(fmt::format("cuts words by the behavior '{}'", word));
  step.behavior = word.empty() ? Behavior::kIsolated : found->second;
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
