#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forebay/result.h"

namespace forebay {

/// A text on its way to tokens.
struct NormalText {
  std::string text;
  /// How many bytes at its beginning came of the first character of the whole input: what stands there begins the input.
  /// A part of a text that lies further back has none.
  size_t first_bytes = 0;
};

/// A tokenizer's normalizer: BertNormalizer, Lowercase, StripAccents, Strip, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace
/// (of a text, of runs of blanks), and sequences of these. Immutable; any thread.
class Normalizer {
 public:
  /// Null: nothing is done.
  static Result<Normalizer> parse(const nlohmann::json& part);

  /// `text` is UTF-8, before and after. Unsupported if it becomes more than kMostGrowth times as long.
  Status apply(NormalText& text) const;
  bool empty() const { return steps_.empty(); }
  static constexpr size_t kMostGrowth = 16;

 private:
  using Step = std::function<void(NormalText&)>;
  Status add(const nlohmann::json& part, int depth);
  Status add_replace(const nlohmann::json& part);
  std::vector<Step> steps_;
};

}  // namespace forebay
