#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/byte_trie.h"
#include "codec/tokenizer/merge_table.h"
#include "codec/tokenizer/piece_model.h"
#include "forebay/result.h"

namespace forebay {

/// Character-level BPE (SentencePiece's, as in Llama 2, Mistral and Gemma; also with prefixes or
/// suffixes of pieces). Characters become tokens, and adjacent tokens are merged by rank. A
/// character without a token becomes the tokens of its bytes if all of them exist. Otherwise it
/// becomes the unknown token, or is dropped if the file names none.
class BpeModel final : public PieceModel {
 public:
  BpeModel() : merges_(0) {}
  /// Reads the `model` of a tokenizer.json. Unsupported, naming the part, if it has parts that are
  /// not built in; Corrupt if it is malformed.
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_per_byte() const override { return 64; }

 private:
  int32_t find(std::string_view character, bool first, bool last) const;
  bool put_bytes(std::string_view character, std::vector<int32_t>& tokens) const;

  ByteTrie pieces_;
  MergeTable merges_;
  std::string prefix_, suffix_;  ///< of pieces that continue a word, and of those that end it
  std::optional<int32_t> unknown_id_;
  bool fuses_unknown_ = false, ignores_merges_ = false;
  std::vector<int32_t> byte_ids_;  ///< by byte; empty if there are no byte tokens
};

}  // namespace forebay
