#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forebay/result.h"

namespace forebay {

/// A text during normalization and pre-tokenization, as NormalizedString in `tokenizers`.
struct NormalizedText {
  std::string text;
  /// Number of leading bytes that came from the first character of the whole input. 0 for a later
  /// part of the text.
  size_t first_char_bytes = 0;
};

/// A tokenizer's normalizer: BertNormalizer, Lowercase, StripAccents, Strip, NFC, NFD, NFKC, NFKD,
/// Nmt, Precompiled, Prepend, Replace (of a text, or of runs of blanks), and sequences of these.
/// Immutable; any thread may use it.
class Normalizer {
 public:
  /// Null makes a normalizer that does nothing.
  static Result<Normalizer> parse(const nlohmann::json& part);

  /// `text` is UTF-8, before and after. Unsupported if it becomes more than kMaxGrowth times as
  /// long.
  Status apply(NormalizedText& text) const;
  bool empty() const { return steps_.empty(); }
  static constexpr size_t kMaxGrowth = 16;

 private:
  using Step = std::function<void(NormalizedText&)>;
  Status add(const nlohmann::json& part, int depth);
  Status add_replace(const nlohmann::json& part);
  std::vector<Step> steps_;
};

}  // namespace forebay
