#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/added_tokens.h"
#include "codec/tokenizer/normalizer.h"
#include "codec/tokenizer/piece_model.h"
#include "codec/tokenizer/pre_tokenizer.h"
#include "codec/tokenizer/text_tokenizer.h"
#include "forebay/result.h"

namespace forebay {

/// A tokenizer whose units are characters: WordPiece (BERT), Unigram (T5, XLNet, XLM-R), or BPE of
/// characters (Llama 2). A text is split at added tokens. Each part is normalized, split again at
/// added tokens that are matched normalized, and pre-tokenized to words, which the model encodes.
class PieceTokenizer final : public TextTokenizer {
 public:
  uint64_t working_bytes(uint64_t text_bytes) const override;

 protected:
  Status encode_text(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
  friend Result<std::shared_ptr<const TextTokenizer>> read_piece_tokenizer(const nlohmann::json&, const std::string&);
  PieceTokenizer() = default;
  /// Encodes a part between added tokens. `is_first`: the text begins with it.
  Status encode_segment(std::string_view text, bool is_first, std::vector<int32_t>& ids) const;

  AddedTokens raw_added_;         ///< matched in the given text
  AddedTokens normalized_added_;  ///< matched in the normalized text
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<PieceModel> model_;
};

/// Reads a tokenizer.json (`file`) whose model is of the `kind` "WordPiece", "Unigram" or "BPE".
/// Unsupported, naming the part, for parts that are not built in; Corrupt for a malformed file.
Result<std::shared_ptr<const TextTokenizer>> read_piece_tokenizer(const nlohmann::json& file, const std::string& kind);

}  // namespace forebay
