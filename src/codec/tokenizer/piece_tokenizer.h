#pragma once

#include <memory>
#include <string>

#include "codec/tokenizer/added_tokens.h"
#include "codec/tokenizer/normalizer.h"
#include "codec/tokenizer/piece_model.h"
#include "codec/tokenizer/pre_tokenizer.h"
#include "codec/tokenizer/text_tokenizer.h"

namespace forebay {

/// A tokenizer of the WordPiece, Unigram or character-level BPE kind (BERT; T5, XLNet, XLM-R, Llama
/// 2, models of SentencePiece). It applies added tokens, normalizer, pre-tokenizer and model in
/// this order.
class PieceTokenizer final : public TextTokenizer {
 public:
  uint64_t working_bytes(uint64_t text_bytes) const override;

 protected:
  Status encode_text(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
  friend Result<std::shared_ptr<const TextTokenizer>> read_piece_tokenizer(const nlohmann::json&, const std::string&);
  PieceTokenizer() = default;
  Status encode_segment(std::string_view text, bool begins, std::vector<int32_t>& ids) const;

  AddedTokens raw_added_, normalized_added_;  ///< matched before and after normalization
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<PieceModel> model_;
};

/// `model` is "WordPiece", "Unigram" or "BPE".
Result<std::shared_ptr<const TextTokenizer>> read_piece_tokenizer(const nlohmann::json& file, const std::string& model);

}  // namespace forebay
