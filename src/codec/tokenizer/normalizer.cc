#include "codec/tokenizer/normalizer.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/tokenizer/file_parts.h"
#include "codec/tokenizer/normalizer_steps.h"

namespace forebay {

using nlohmann::json;
using namespace tokenizer_file;

namespace {

constexpr int kMostDepth = 16;
constexpr size_t kMaxReplacement = 64;

struct RunPattern {
  std::string character;
  size_t min_count;
};

/// Parses " {2,}", " +" and the like: one character, and its minimum count.
std::optional<RunPattern> run_pattern(const std::string& pattern) {
  for (const auto& [quantifier, min_count] : {std::pair<std::string_view, size_t>{"{2,}", 2}, {"+", 1}}) {
    const std::string character =
        pattern.ends_with(quantifier) ? pattern.substr(0, pattern.size() - quantifier.size()) : "";
    if (character == " " || character == "\xe2\x96\x81") return RunPattern{character, min_count};
  }
  return {};
}

}  // namespace

Result<Normalizer> Normalizer::parse(const json& part) {
  Normalizer made;
  FOREBAY_RETURN_IF_ERROR(made.add(part, 0));
  return made;
}

Status Normalizer::apply(NormalizedText& text) const {
  constexpr size_t kShort = 4096;
  const size_t was = text.text.size(), most = std::max(kShort, was * kMaxGrowth);
  for (const Step& step : steps_) {
    step(text);
    // Checked after each step, so that the growth of several steps cannot multiply unnoticed.
    if (text.text.size() > most)
      return unsupported(
          fmt::format("the tokenizer's normalizer makes {} bytes of a text of {}", text.text.size(), was));
  }
  return {};
}

Status Normalizer::add(const json& part, int depth) {
  using namespace normalizer_steps;
  if (part.is_null()) return {};
  const std::string type = type_of(part);
  if (type == "Sequence") {
    if (depth == kMostDepth) return unsupported_tokenizer("has normalizers in one another too deep");
    for (const json& each : member(part, "normalizers")) FOREBAY_RETURN_IF_ERROR(add(each, depth + 1));
  } else if (type == "BertNormalizer") {
    const bool lower = bool_member(part, "lowercase", true);
    const BertOptions options{bool_member(part, "clean_text", true), bool_member(part, "handle_chinese_chars", true),
                              bool_member(part, "strip_accents", lower), lower};
    steps_.emplace_back([options](NormalizedText& text) { normalize_bert(text, options); });
  } else if (type == "Lowercase") {
    steps_.emplace_back([](NormalizedText& text) { lowercase(text); });
  } else if (type == "StripAccents") {
    steps_.emplace_back([](NormalizedText& text) { strip_accents(text); });
  } else if (type == "Strip") {
    const bool left = bool_member(part, "strip_left", true), right = bool_member(part, "strip_right", true);
    steps_.emplace_back([=](NormalizedText& text) { strip(text, left, right); });
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    const bool compatible = type[2] == 'K', composed = type.back() == 'C';
    steps_.emplace_back([=](NormalizedText& text) { normalize_unicode(text, compatible, composed); });
  } else if (type == "Nmt") {
    steps_.emplace_back([](NormalizedText& text) { normalize_nmt(text); });
  } else if (type == "Precompiled") {
    FOREBAY_ASSIGN(Charsmap map, Charsmap::parse(text_of(member(part, "precompiled_charsmap"))));
    steps_.emplace_back(
        [map = std::make_shared<const Charsmap>(std::move(map))](NormalizedText& text) { apply_charsmap(text, *map); });
  } else if (type == "Prepend") {
    const std::string prefix = text_of(member(part, "prepend"));
    if (prefix.size() > kMaxReplacement) return unsupported_tokenizer("prepends a long text");
    steps_.emplace_back([prefix](NormalizedText& text) { prepend(text, prefix); });
  } else if (type == "Replace") {
    return add_replace(part);
  } else {
    return unsupported_tokenizer(fmt::format("has the normalizer '{}'", type));
  }
  return {};
}

Status Normalizer::add_replace(const json& part) {
  const std::string replacement = text_of(member(part, "content"));
  const json& pattern = member(part, "pattern");
  if (replacement.size() > kMaxReplacement) return unsupported_tokenizer("replaces by a long text");
  if (const std::string searched = text_of(member(pattern, "String")); !searched.empty()) {
    steps_.emplace_back([=](NormalizedText& text) { normalizer_steps::replace(text, searched, replacement); });
    return {};
  }
  const std::string expression = text_of(member(pattern, "Regex"));
  const std::optional<RunPattern> run = run_pattern(expression);
  if (!run) return unsupported_tokenizer(fmt::format("replaces the pattern '{}'", expression));
  steps_.emplace_back([run, replacement](NormalizedText& text) {
    normalizer_steps::replace_runs(text, run->character, run->min_count, replacement);
  });
  return {};
}

}  // namespace forebay
