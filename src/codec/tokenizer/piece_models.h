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

/// Maps words to ids. Immutable; any thread may use it.
class PieceModel {
 public:
  virtual ~PieceModel() = default;
  /// Appends the ids of `word`, which is UTF-8 and not empty.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;
  /// Memory that encode() takes per byte of the longest word.
  virtual uint64_t working_bytes_a_byte() const = 0;
};

/// BERT's WordPiece. It takes the longest piece that the word begins with, then the longest
/// continuation piece of the rest, and so on. A word that cannot be composed, or has too many
/// characters, is one unknown token.
class WordPieceModel final : public PieceModel {
 public:
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_a_byte() const override { return 0; }

 private:
  ByteTrie pieces_;
  uint32_t going_on_ = ByteTrie::kRoot;  ///< root of the pieces that continue a word
  int32_t unknown_ = 0;
  size_t most_chars_ = 100;
};

/// SentencePiece's Unigram model (Kudo, 2018). Of all ways to compose a word of pieces, it takes
/// the one with the greatest sum of scores. Characters that no piece covers become tokens of their
/// bytes, or else unknown, several of them as one token.
class UnigramModel final : public PieceModel {
 public:
  static Result<std::unique_ptr<PieceModel>> read(const nlohmann::json& model);
  void encode(std::string_view word, std::vector<int32_t>& ids) const override;
  uint64_t working_bytes_a_byte() const override { return sizeof(Best) + sizeof(uint32_t); }

 private:
  struct Best {  ///< the best way to compose the text up to here
    double score = 0;
    uint32_t begin = UINT32_MAX;  ///< start of the last piece; UINT32_MAX if there is none yet
    int32_t id = 0;
  };
  void put(std::string_view piece, std::vector<int32_t>& ids) const;

  ByteTrie pieces_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_ = 0;
  std::vector<int32_t> of_byte_;  ///< empty if there are no byte tokens
};

/// Character-level BPE (SentencePiece's, as in Llama 2, Mistral and Gemma; also with prefixes or
/// suffixes of pieces). Characters become tokens, and adjacent tokens are merged by rank. A
/// character without a token becomes the tokens of its bytes if all of them exist. Otherwise it
/// becomes the unknown token, or is dropped if the file names none.
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
  std::string prefix_, suffix_;  ///< of pieces that continue a word, and of those that end it
  std::optional<int32_t> unknown_;
  bool fuses_unknown_ = false, ignores_merges_ = false;
  std::vector<int32_t> of_byte_;  ///< empty if there are no byte tokens
};

}  // namespace forebay
