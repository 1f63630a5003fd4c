#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/normalizer.h"

namespace forebay {

/// A tokenizer's pre-tokenizer: BertPreTokenizer, Whitespace, WhitespaceSplit, Metaspace, and sequences of these: cuts a text into words, each of which is
/// encoded by itself. Immutable; any thread.
class WordCutter {
 public:
  /// Null: a text is one word.
  static Result<WordCutter> parse(const nlohmann::json& part);

  /// None of them is empty.
  std::vector<NormalText> cut(NormalText text) const;

 private:
  enum class Blank : uint8_t { kAlways, kFirst, kNever };
  struct Step {
    enum class Kind : uint8_t { kBert, kWords, kBlanks, kMetaspace } kind = Kind::kBlanks;
    std::string sign = {};  ///< what stands for a blank
    Blank before = Blank::kAlways;
    bool cuts = true;
  };
  Status add(const nlohmann::json& part, int depth);
  Status add_metaspace(const nlohmann::json& part);
  static void cut_one(const Step& step, NormalText&& text, std::vector<NormalText>& words);
  static void cut_metaspace(const Step& step, NormalText&& text, std::vector<NormalText>& words);

  std::vector<Step> steps_;
};

}  // namespace forebay
