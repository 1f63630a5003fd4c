#include "codec/tokenizer/pre_tokenizer.h"

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

constexpr int kMaxNesting = 16;

void add_word(const NormalizedText& of, size_t begin, size_t end, std::vector<NormalizedText>& words) {
  if (end <= begin) return;
  const size_t first = std::clamp(of.first_char_bytes, begin, end) - begin;
  words.push_back({of.text.substr(begin, end - begin), first});
}

/// Effect of a character on the words: none; dropped between two words; a word of its own; or the
/// first character of the next word.
enum class Boundary : uint8_t { kNone, kDropped, kIsolatedChar, kBeforeChar };

/// Splits `text` at the boundaries that `classify(code)` returns for its characters.
template <typename Classify>
void split_where(const NormalizedText& text, std::vector<NormalizedText>& words, Classify classify) {
  size_t begin = 0;
  for (size_t at = 0; at < text.text.size();) {
    const Utf8Char next = char_at(text.text, at);
    const Boundary what = classify(next.code);
    if (what != Boundary::kNone) {
      add_word(text, begin, at, words);
      begin = what == Boundary::kBeforeChar ? at : at + next.length;
      if (what == Boundary::kIsolatedChar) add_word(text, at, begin, words);
    }
    at += next.length;
  }
  add_word(text, begin, text.text.size(), words);
}

}  // namespace

std::vector<NormalizedText> PreTokenizer::split(NormalizedText text) const {
  std::vector<NormalizedText> words, parts;
  if (!text.text.empty()) words.push_back(std::move(text));
  for (const Step& step : steps_) {
    parts.clear();
    for (NormalizedText& word : words) split_one(step, std::move(word), parts);
    std::swap(words, parts);
  }
  return words;
}

void PreTokenizer::split_one(const Step& step, NormalizedText&& text, std::vector<NormalizedText>& words) {
  using unicode::is_space;
  switch (step.kind) {
    case Step::Kind::kWhitespaceSplit:
      return split_where(text, words,
                         [](uint32_t code) { return is_space(code) ? Boundary::kDropped : Boundary::kNone; });
    case Step::Kind::kBertPreTokenizer:
      return split_where(text, words, [](uint32_t code) {
        if (is_space(code)) return Boundary::kDropped;
        return unicode::is_punctuation(code) ? Boundary::kIsolatedChar : Boundary::kNone;
      });
    case Step::Kind::kWhitespace: {
      bool in_word = false;
      return split_where(text, words, [&](uint32_t code) {
        if (is_space(code)) return Boundary::kDropped;
        const bool was = std::exchange(in_word, unicode::is_word(code));
        return was == in_word ? Boundary::kNone : Boundary::kBeforeChar;
      });
    }
    case Step::Kind::kMetaspace: return split_metaspace(step, std::move(text), words);
    case Step::Kind::kDigits:
    case Step::Kind::kPunctuation:
    case Step::Kind::kSplit: {
      std::vector<Piece> pieces = find_pieces(step, text.text);
      merge_pieces(step.behavior, pieces);
      for (const Piece& piece : pieces) {
        if (step.behavior != Behavior::kRemoved || !piece.match) add_word(text, piece.begin, piece.end, words);
      }
    }
  }
}

std::vector<PreTokenizer::Piece> PreTokenizer::find_pieces(const Step& step, std::string_view text) {
  std::vector<Piece> pieces;
  size_t done = 0;
  const auto match = [&](size_t begin, size_t end) {
    if (begin > done) pieces.push_back({done, begin, step.inverts});
    pieces.push_back({begin, end, !step.inverts});
    done = end;
  };
  if (step.kind == Step::Kind::kSplit) {
    for (size_t at = text.find(step.pattern); at != std::string_view::npos; at = text.find(step.pattern, done))
      match(at, at + step.pattern.size());
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

void PreTokenizer::merge_pieces(Behavior behavior, std::vector<Piece>& pieces) {
  if (behavior == Behavior::kRemoved || behavior == Behavior::kIsolated || pieces.empty()) return;
  // Matches join the previous word. If they join the next one, the words are processed from the
  // end.
  const bool backward = behavior == Behavior::kMergedWithNext;
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

void PreTokenizer::split_metaspace(const Step& step, NormalizedText&& text, std::vector<NormalizedText>& words) {
  const bool first = text.first_char_bytes > 0;
  normalizer_steps::replace(text, " ", step.pattern);
  if (step.prepend_scheme != PrependScheme::kNever && (step.prepend_scheme == PrependScheme::kAlways || first) &&
      !text.text.starts_with(step.pattern))
    normalizer_steps::prepend(text, step.pattern);
  if (!step.splits) return add_word(text, 0, text.text.size(), words);
  size_t begin = 0;
  while (begin < text.text.size()) {
    // The replacement of a blank begins a word and stays with it.
    const size_t next = std::min(text.text.find(step.pattern, begin + 1), text.text.size());
    add_word(text, begin, next, words);
    begin = next;
  }
}

Result<PreTokenizer> PreTokenizer::parse(const json& part) {
  PreTokenizer made;
  FOREBAY_RETURN_IF_ERROR(made.add(part, 0));
  return made;
}

Status PreTokenizer::add(const json& part, int depth) {
  if (part.is_null()) return {};
  const std::string type = type_of(part);
  if (type == "Sequence") {
    if (depth == kMaxNesting) return unsupported_tokenizer("has pre-tokenizers in one another too deep");
    for (const json& each : member(part, "pretokenizers")) FOREBAY_RETURN_IF_ERROR(add(each, depth + 1));
    return {};
  }
  if (type == "Metaspace") return add_metaspace(part);
  if (type == "BertPreTokenizer")
    steps_.push_back({.kind = Step::Kind::kBertPreTokenizer});
  else if (type == "Whitespace")
    steps_.push_back({.kind = Step::Kind::kWhitespace});
  else if (type == "WhitespaceSplit")
    steps_.push_back({.kind = Step::Kind::kWhitespaceSplit});
  else
    return add_split(part);
  return {};
}

Status PreTokenizer::add_split(const json& part) {
  const std::string type = type_of(part);
  Step step{.kind = Step::Kind::kSplit};
  if (type == "Digits") {
    step.kind = Step::Kind::kDigits;
    if (!bool_member(part, "individual_digits", false)) step.behavior = Behavior::kContiguous;
  } else if (type == "Punctuation") {
    step.kind = Step::Kind::kPunctuation;
    FOREBAY_RETURN_IF_ERROR(read_behavior(part, step));
  } else if (type == "CharDelimiterSplit") {
    step.pattern = text_of(member(part, "delimiter"));
    step.behavior = Behavior::kRemoved;
  } else if (type == "Split") {
    const json& pattern = member(part, "pattern");
    step.pattern = text_of(member(pattern, "String"));
    step.inverts = bool_member(part, "invert", false);
    if (const json& regex = member(pattern, "Regex"); !regex.is_null())
      return unsupported_tokenizer(fmt::format("cuts words by the pattern '{}'", text_of(regex)));
    FOREBAY_RETURN_IF_ERROR(read_behavior(part, step));
  } else {
    return unsupported_tokenizer(fmt::format("cuts words by '{}'", type));
  }
  if (step.kind == Step::Kind::kSplit && step.pattern.empty())
    return unsupported_tokenizer("cuts words by an empty text");
  steps_.push_back(std::move(step));
  return {};
}

Status PreTokenizer::read_behavior(const json& part, Step& step) const {
  const std::pair<std::string_view, Behavior> kBehaviors[] = {{"Removed", Behavior::kRemoved},
                                                              {"Isolated", Behavior::kIsolated},
                                                              {"MergedWithPrevious", Behavior::kMergedWithPrevious},
                                                              {"MergedWithNext", Behavior::kMergedWithNext},
                                                              {"Contiguous", Behavior::kContiguous}};
  const std::string word = text_of(member(part, "behavior"));
  const auto* const found = std::ranges::find(kBehaviors, word, &std::pair<std::string_view, Behavior>::first);
  if (!word.empty() && found == std::end(kBehaviors))
    return unsupported_tokenizer(fmt::format("cuts words by the behavior '{}'", word));
  step.behavior = word.empty() ? Behavior::kIsolated : found->second;
  return {};
}

Status PreTokenizer::add_metaspace(const json& part) {
  Step step{.kind = Step::Kind::kMetaspace,
            .pattern = text_of(member(part, "replacement")),
            .splits = bool_member(part, "split", true)};
  if (step.pattern.empty() || char_at(step.pattern, 0).length != step.pattern.size())
    return malformed_tokenizer("its Metaspace has a replacement that is no character");
  const std::string scheme = text_of(member(part, "prepend_scheme"));
  if (scheme == "first")
    step.prepend_scheme = PrependScheme::kFirst;
  else if (scheme == "never")
    step.prepend_scheme = PrependScheme::kNever;
  else if (!scheme.empty() && scheme != "always")
    return unsupported_tokenizer(fmt::format("has a Metaspace that prepends '{}'", scheme));
  if (!bool_member(part, "add_prefix_space", true) && step.prepend_scheme != PrependScheme::kNever)
    return malformed_tokenizer("its Metaspace says two things of the blank before a text");
  steps_.push_back(std::move(step));
  return {};
}

}  // namespace forebay
