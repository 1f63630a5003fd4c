#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Text → ids, as a tokenizer.json of Hugging Face's `tokenizers` has it and as that package gives them. Immutable; any thread.
/// The models BPE (of bytes: `BpeTokenizer`, of characters: `PieceTokenizer`), WordPiece and Unigram (`PieceTokenizer`). A file's `truncation` and
/// `padding` are not looked at: Encoding and later steps say that.
class TextTokenizer {
 public:
  static constexpr size_t kMostFileBytes = 256 << 20;

  /// Corrupt for what is no tokenizer; Unsupported, with the name of the part, for one that is made otherwise.
  static Result<std::shared_ptr<const TextTokenizer>> parse(std::span<const uint8_t> json);

  struct Encoding {
    bool special = true;  ///< with the ids that the tokenizer puts around each text
    size_t most =
        SIZE_MAX;  ///< ids of a text, these included; what is beyond them is cut off before the closing ones. At least special_ids()
  };

  virtual ~TextTokenizer() = default;
  /// Appends the ids. `text` is UTF-8. Unsupported for a text that grows beyond measure on its way.
  Status encode(std::string_view text, const Encoding& how, std::vector<int32_t>& ids) const;
  size_t special_ids() const { return before_.size() + behind_.size(); }
  /// What encode() takes at once for a text of so many bytes, the ids apart.
  virtual uint64_t working_bytes(uint64_t text_bytes) const = 0;

 protected:
  /// Appends the ids of the text alone.
  virtual Status encode_text(std::string_view text, std::vector<int32_t>& ids) const = 0;

  std::vector<int32_t> before_, behind_;
};

}  // namespace forebay
