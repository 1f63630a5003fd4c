#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/byte_trie.h"
#include "codec/tokenizer/merge_table.h"
#include "forebay/result.h"

namespace forebay {

/// Words → ids. Immutable; any thread.
class PieceModel {
 public:
  virtual ~PieceModel() = default;
  /// Appends the ids of `word`, which is UTF-8 and not empty.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;
  /// What encode() takes at once for each byte of the longest word.
  virtual uint64_t working_bytes_a_byte() const = 0;
};

/// BERT's: the longest piece that a word begins with, then the longest of what is left among those that go on. A word that cannot be made, or of too many
/// characters, is one unknown token.
class WordPieceModel final : public PieceModel {
 public:
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_a_byte() const override { return 0; }

 private:
  ByteTrie pieces_;
  uint32_t going_on_ = ByteTrie::kRoot;  ///< where pieces begin that go on with a word
  int32_t unknown_ = 0;
  size_t most_chars_ = 100;
};

/// SentencePiece's (Kudo, 2018): of all ways to make a word of pieces the one of the greatest sum of scores. Characters that no piece has are unknown, several
/// of them one token; or tokens of their bytes.
class UnigramModel final : public PieceModel {
 public:
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_a_byte() const override { return sizeof(Best) + sizeof(uint32_t); }

 private:
  struct Best {  ///< the best way to make what ends here
    double score = 0;
    uint32_t begin = UINT32_MAX;  ///< of the last piece; UINT32_MAX: there is none yet
    int32_t id = 0;
  };
  void put(std::string_view piece, std::vector<int32_t>& ids) const;

  ByteTrie pieces_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_ = 0;
  std::vector<int32_t> of_byte_;  ///< empty without tokens of bytes
};

/// BPE of characters (SentencePiece's, as Llama 2, Mistral and Gemma have it; also with prefixes or suffixes of pieces): characters become
/// tokens, and neighbours are merged by rank. A character without a token is its bytes' tokens, where all of them are there, or else
/// unknown, or nothing where the file names no unknown token.
class BpeModel final : public PieceModel {
 public:
  BpeModel() : merges_(0) {}
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_a_byte() const override { return 64; }

 private:
  int32_t find(std::string_view character, bool first, bool last) const;
  bool put_bytes(std::string_view character, std::vector<int32_t>& tokens) const;

  ByteTrie pieces_;
  MergeTable merges_;
  std::string prefix_, suffix_;  ///< of pieces that go on with a word, and of those that end it
  std::optional<int32_t> unknown_;
  bool fuses_unknown_ = false, ignores_merges_ = false;
  std::vector<int32_t> of_byte_;  ///< empty without tokens of bytes
};

}  // namespace forebay
