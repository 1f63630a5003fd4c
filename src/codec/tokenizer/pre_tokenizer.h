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
class PreTokenizer {
 public:
  /// Null makes a cutter for which a text is one word.
  static Result<PreTokenizer> parse(const nlohmann::json& part);

  bool empty() const { return steps_.empty(); }
  /// Returns the words. None of them is empty.
  std::vector<NormalizedText> split(NormalizedText text) const;

 private:
  /// What a split does with its matches.
  enum class Behavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  struct Piece {
    size_t begin, end;
    bool match;
  };
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
    std::string pattern = {};  ///< replacement of a blank, or the text to search for
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
