#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include <nlohmann/json_fwd.hpp>

#include "codec/tokenizer/merge_table.h"
#include "forebay/result.h"

namespace forebay {

/// What both kinds of BPE read of a model.
struct BpeVocabulary {
  std::unordered_map<std::string, int32_t> ids;
  MergeTable merges{0};
  std::string prefix, suffix;  ///< `continuing_subword_prefix` and `end_of_word_suffix`
  std::optional<int32_t> unknown;

  /// Corrupt where merges and vocab do not fit together; Unsupported for a model that draws at random (`dropout`).
  static Result<BpeVocabulary> read(const nlohmann::json& model);
};

}  // namespace forebay
