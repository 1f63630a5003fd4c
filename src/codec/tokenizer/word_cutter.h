#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/normalizer.h"

namespace forebay {

/// A tokenizer's pre-tokenizer, which divides a text into words that are encoded one by one:
/// BertPreTokenizer, Whitespace, WhitespaceSplit, Metaspace, Digits, Punctuation, Split and
/// CharDelimiterSplit by a text, and sequences of these. Immutable; any thread may use it.
class WordCutter {
 public:
  /// Null makes a cutter for which a text is one word.
  static Result<WordCutter> parse(const nlohmann::json& part);

  bool empty() const { return steps_.empty(); }
  /// Returns the words. None of them is empty.
  std::vector<NormalText> cut(NormalText text) const;

 private:
  /// What a split does with its matches.
  enum class Behavior : uint8_t { kRemoved, kIsolated, kPrevious, kNext, kContiguous };
  struct Piece {
    size_t begin, end;
    bool match;
  };
  enum class Blank : uint8_t { kAlways, kFirst, kNever };
  struct Step {
    enum class Kind : uint8_t { kBert, kWords, kBlanks, kMetaspace, kDigits, kPunctuation, kText } kind = Kind::kBlanks;
    std::string sign = {};  ///< replacement of a blank, or the text to search for
    Blank before = Blank::kAlways;
    bool cuts = true;
    Behavior behavior = Behavior::kIsolated;
    bool inverts = false;
  };
  Status add(const nlohmann::json& part, int depth);
  Status add_split(const nlohmann::json& part);
  Status set_behavior(const nlohmann::json& part, Step& step) const;
  static std::vector<Piece> pieces_of(const Step& step, std::string_view text);
  static void join(Behavior behavior, std::vector<Piece>& pieces);
  Status add_metaspace(const nlohmann::json& part);
  static void cut_one(const Step& step, NormalText&& text, std::vector<NormalText>& words);
  static void cut_metaspace(const Step& step, NormalText&& text, std::vector<NormalText>& words);

  std::vector<Step> steps_;
};

}  // namespace forebay
