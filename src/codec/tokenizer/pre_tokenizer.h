#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/normalizer.h"

namespace forebay {

/// The `pre_tokenizer` of a tokenizer.json: divides a text into words, which are encoded one by
/// one. Supports BertPreTokenizer, Whitespace, WhitespaceSplit, Metaspace, Digits, Punctuation,
/// Split and CharDelimiterSplit by a text, and sequences of these. Immutable; any thread may use
/// it.
class PreTokenizer {
 public:
  /// Parses `part`. Null makes a pre-tokenizer that returns each text as one word.
  static Result<PreTokenizer> parse(const nlohmann::json& part);

  bool empty() const { return steps_.empty(); }
  /// Returns the words in order. None of them is empty.
  std::vector<NormalizedText> split(NormalizedText text) const;

 private:
  /// The `behavior` of a split: what becomes of the matches of its pattern.
  enum class Behavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  /// A part of a text that matches the pattern of a split, or lies between two matches.
  struct Piece {
    size_t begin, end;
    bool match;
  };
  /// The texts before which Metaspace puts its replacement.
  enum class PrependScheme : uint8_t { kAlways, kFirst, kNever };
  struct Step {
    enum class Kind : uint8_t {
      kBertPreTokenizer,
      kWhitespace,
      kWhitespaceSplit,
      kMetaspace,
      kDigits,
      kPunctuation,
      kSplit
    } kind = Kind::kWhitespaceSplit;
    std::string pattern = {};  ///< text to search for; for kMetaspace: replacement of a blank
    PrependScheme prepend_scheme = PrependScheme::kAlways;
    bool splits = true;
    Behavior behavior = Behavior::kIsolated;
    bool inverts = false;
  };
  Status add(const nlohmann::json& part, int depth);
  Status add_split(const nlohmann::json& part);
  Status read_behavior(const nlohmann::json& part, Step& step) const;
  static std::vector<Piece> find_pieces(const Step& step, std::string_view text);
  static void merge_pieces(Behavior behavior, std::vector<Piece>& pieces);
  Status add_metaspace(const nlohmann::json& part);
  static void split_one(const Step& step, NormalizedText&& text, std::vector<NormalizedText>& words);
  static void split_metaspace(const Step& step, NormalizedText&& text, std::vector<NormalizedText>& words);

  std::vector<Step> steps_;
};

}  // namespace forebay
