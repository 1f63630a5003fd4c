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

/// SentencePiece's Unigram model (Kudo, 2018). It splits a word into the pieces with the greatest
/// sum of scores. A run of characters that no piece covers becomes the tokens of its bytes if the
/// vocabulary has all of them, and otherwise one unknown token.
class UnigramModel final : public PieceModel {
 public:
  /// Reads the `model` of a tokenizer.json. Unsupported without `unk_id`, or with a vocab of more
  /// than 64 MiB; Corrupt if it is malformed.
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_per_byte() const override { return sizeof(PathEnd) + sizeof(uint32_t); }

 private:
  /// End of the best path (Viterbi) from the start of the word to one byte.
  struct PathEnd {
    double score = 0;
    uint32_t begin = UINT32_MAX;  ///< start of the last piece; UINT32_MAX if there is none yet
    int32_t id = 0;               ///< of the last piece
  };
  /// One per byte of the word, and one more.
  std::vector<PathEnd> best_paths(std::string_view word) const;
  /// Begins of the pieces, from the last to the first.
  std::vector<uint32_t> piece_begins(const std::vector<PathEnd>& best) const;
  /// Appends the id of the piece, or those of its bytes, or the unknown id.
  void append_ids(std::string_view piece, std::vector<int32_t>& ids) const;

  ByteTrie pieces_;
  std::vector<double> scores_;  ///< by id
  double unknown_score_ = 0;
  int32_t unknown_id_ = 0;
  std::vector<int32_t> byte_ids_;  ///< by byte; empty if there are no byte tokens
};

}  // namespace forebay
