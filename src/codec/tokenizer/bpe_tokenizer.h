#pragma once

#include <array>
#include <optional>
#include <string>
#include <unordered_map>

#include "codec/tokenizer/added_tokens.h"
#include "codec/tokenizer/merge_table.h"
#include "codec/tokenizer/normalizer.h"
#include "codec/tokenizer/pre_tokenizer.h"
#include "codec/tokenizer/text_tokenizer.h"
#include "codec/tokenizer/word_pattern.h"

namespace forebay {

/// A byte-level BPE tokenizer (GPT-2, RoBERTa, Llama 3, Qwen 2, …). It applies added tokens,
/// normalizer, pre-tokenizer, word pattern and merges in this order. BpeTokenizerReader creates it.
class BpeTokenizer final : public TextTokenizer {
 public:
  uint64_t working_bytes(uint64_t text_bytes) const override { return 4 * text_bytes; }

 protected:
  /// Appends at most one id per byte of the normalized text.
  Status encode_text(std::string_view text, std::vector<int32_t>& ids) const override;

 private:
  friend class BpeTokenizerReader;
  BpeTokenizer() : merges_(0) {}

  struct Scratch {
    std::vector<int32_t> word;
    std::string text;
  };
  Status encode_segment(std::string_view text, bool begins, Scratch& scratch, std::vector<int32_t>& ids) const;
  /// `first_char_bytes` as in NormalizedText.
  void encode_words(std::string_view text, size_t first_char_bytes, Scratch& scratch, std::vector<int32_t>& ids) const;
  void encode_part(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const;
  void encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

  static constexpr int32_t kNone = -1;
  std::array<int32_t, 256> byte_ids_{};       ///< kNone if the byte is unknown
  std::array<int32_t, 256> last_byte_ids_{};  ///< for bytes at the end of a word
  std::optional<int32_t> unknown_;            ///< if absent, unknown bytes are dropped
  bool fuses_unknown_ = false;
  PreTokenizer pre_tokenizer_;  ///< applied before the pattern
  MergeTable merges_;
  /// Words that the model maps directly, without merging.
  std::unordered_map<std::string, int32_t> whole_words_;
  AddedTokens raw_added_, normalized_added_;  ///< matched before and after normalization
  Normalizer normalizer_;
  WordPattern pattern_ = WordPattern::kNone;
  bool add_prefix_space_ = false, ignores_merges_ = false;
};

Result<std::shared_ptr<const TextTokenizer>> read_bpe_tokenizer(const nlohmann::json& file);

}  // namespace forebay
