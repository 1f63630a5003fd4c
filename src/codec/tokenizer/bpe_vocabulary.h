#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/merge_table.h"
#include "forebay/result.h"

namespace forebay {

/// The parts of a model file that both kinds of BPE read.
struct BpeVocabulary {
  std::unordered_map<std::string, int32_t> ids;
  MergeTable merges{0};
  std::string prefix, suffix;  ///< `continuing_subword_prefix` and `end_of_word_suffix`
  std::optional<int32_t> unknown;

  /// Corrupt if merges and vocabulary are inconsistent; Unsupported for a model with random results
  /// (`dropout`).
  static Result<BpeVocabulary> read(const nlohmann::json& model);
};

}  // namespace forebay
