#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Converts texts to ids as a tokenizer.json of Hugging Face's `tokenizers` describes it, with the
/// results of that package. Immutable; any thread may use it.
///
/// The models are BPE (`BpeTokenizer` for bytes, `PieceTokenizer` for characters), WordPiece and
/// Unigram (`PieceTokenizer`). The `truncation` and `padding` of the file are ignored: Encoding and
/// later steps decide them.
class TextTokenizer {
 public:
  static constexpr size_t kMostFileBytes = 256 << 20;  ///< limit of a file for parse()

  /// Corrupt if the text is not a tokenizer; Unsupported, naming the part, for one with parts that
  /// are not built in.
  static Result<std::shared_ptr<const TextTokenizer>> parse(std::span<const uint8_t> json);

  struct EncodeOptions {
    bool special = true;  ///< adds the ids that the tokenizer puts around each text
    /// Limit of the ids of a text, including special ids; at least special_id_count(). A longer
    /// text is truncated before its closing special ids.
    size_t most = SIZE_MAX;
  };

  virtual ~TextTokenizer() = default;
  /// Appends the ids. `text` is UTF-8. Unsupported for a text that grows too long during
  /// normalization.
  Status encode(std::string_view text, const EncodeOptions& options, std::vector<int32_t>& ids) const;
  size_t special_id_count() const { return prefix_ids_.size() + suffix_ids_.size(); }
  /// Memory that encode() takes for a text of this size, without the ids.
  virtual uint64_t working_bytes(uint64_t text_bytes) const = 0;

 protected:
  /// Appends the ids of the text, without special ids.
  virtual Status encode_text(std::string_view text, std::vector<int32_t>& ids) const = 0;

  std::vector<int32_t> prefix_ids_, suffix_ids_;  ///< special ids before and after each text
};

}  // namespace forebay
