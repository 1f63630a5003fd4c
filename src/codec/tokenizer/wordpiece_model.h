#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/byte_trie.h"
#include "codec/tokenizer/piece_model.h"
#include "forebay/result.h"

namespace forebay {

/// BERT's WordPiece. It takes the longest piece that the word begins with, then the longest
/// continuation piece of the rest, and so on. A word that cannot be composed, or has too many
/// characters, is one unknown token.
class WordPieceModel final : public PieceModel {
 public:
  /// Reads the `model` of a tokenizer.json. Unsupported, naming the part, if it has parts that are
  /// not built in; Corrupt if it is malformed.
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_per_byte() const override { return 0; }

 private:
  ByteTrie pieces_;
  uint32_t continuations_ = ByteTrie::kRoot;  ///< root of the pieces that continue a word
  int32_t unknown_id_ = 0;
  size_t max_chars_ = 100;  ///< of a word; a longer one is unknown
};

}  // namespace forebay
