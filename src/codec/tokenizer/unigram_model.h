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
/// sum of scores. Characters that no piece covers become tokens of their bytes, or else unknown,
/// several of them as one token.
class UnigramModel final : public PieceModel {
 public:
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_per_byte() const override { return sizeof(PathEnd) + sizeof(uint32_t); }

 private:
  /// Best way to compose the text up to a byte.
  struct PathEnd {
    double score = 0;
    uint32_t begin = UINT32_MAX;  ///< start of the last piece; UINT32_MAX if there is none yet
    int32_t id = 0;
  };
  std::vector<PathEnd> best_paths(std::string_view word) const;
  std::vector<uint32_t> piece_begins(const std::vector<PathEnd>& best) const;
  void put(std::string_view piece, std::vector<int32_t>& ids) const;

  ByteTrie pieces_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_ = 0;
  std::vector<int32_t> byte_ids_;  ///< empty if there are no byte tokens
};

}  // namespace forebay
