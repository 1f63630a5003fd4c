#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/bpe/merge_table.h"
#include "codec/bpe/word_pattern.h"
#include "forebay/result.h"

namespace forebay {

/// A tokenizer of the byte-level BPE kind (GPT-2, RoBERTa, Llama 3, Qwen 2, …), as Hugging Face's tokenizer.json has it: text → the ids that `tokenizers`
/// gives. Immutable; any thread.
class BpeTokenizer {
 public:
  static constexpr size_t kMostFileBytes = 256 << 20;

  /// Corrupt for what is no tokenizer; Unsupported, with the name of the part, for one that is made otherwise.
  static Result<std::shared_ptr<const BpeTokenizer>> parse(std::span<const uint8_t> json);

  struct Encoding {
    bool special = true;  ///< with the ids that the tokenizer puts around each text
    size_t most =
        SIZE_MAX;  ///< ids of a text, these included; what is beyond them is cut off before the closing ones. At least special_ids()
  };
  /// Appends the ids. `text` is UTF-8. At most one id a byte, and the special ones.
  void encode(std::string_view text, const Encoding& how, std::vector<int32_t>& ids) const;
  size_t special_ids() const { return before_.size() + behind_.size(); }

 private:
  friend class BpeTokenizerReader;
  BpeTokenizer() : merges_(0) {}

  struct Added {
    std::string text;
    int32_t id = 0;
  };
  /// Texts that are one token wherever they stand; by first byte, the longest first.
  using AddedTokens = std::array<std::vector<Added>, 256>;
  static const Added* next_added(const AddedTokens& added, std::string_view text, size_t& at);

  struct Scratch {
    std::vector<int32_t> word;
    std::string text;
  };
  void split(std::string_view text, size_t pass, Scratch& scratch, std::vector<int32_t>& ids) const;
  void encode_words(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const;
  void encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

  std::array<int32_t, 256> of_byte_{};
  MergeTable merges_;
  std::unordered_map<std::string, int32_t> whole_words_;  ///< where the model takes those before it merges
  std::array<AddedTokens, 2> added_;                      ///< those looked for in the text as it is, then the others
  bool any_added_[2] = {false, false};
  WordPattern pattern_ = WordPattern::kNone;
  bool blank_before_ = false, ignores_merges_ = false;
  std::vector<int32_t> before_, behind_;
};

}  // namespace forebay
