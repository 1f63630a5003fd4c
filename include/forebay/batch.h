#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/tensor.h"

namespace forebay {

/// One field of a batch. Memory goes back to the loader when the last copy of the tensors is gone.
struct BatchField {
  enum class Kind : uint8_t {
    kDense,   ///< values: (n, ...)
    kRagged,  ///< values: (total, ...), offsets: int64 (n + 1,)
    kBytes,   ///< values: uint8 (total,), offsets: int64 (n + 1,)
    kText,    ///< as kBytes, UTF-8
    kBytesList,  ///< values: uint8 (total,), offsets: int64 (n + 1,) in strings, string_offsets: int64 (strings + 1,) in bytes
    kTextList,  ///< as kBytesList, UTF-8
  };
  std::string name;
  Kind kind = Kind::kDense;
  Tensor values;
  Tensor offsets;
  /// Lists of strings: where each string lies in `values`. Row i has the strings offsets[i] to offsets[i + 1].
  Tensor string_offsets = {};
  /// Rows that are filled up to the longest of their batch: how many elements of the first axis are each row's own. Empty for all others.
  std::vector<int64_t> lengths = {};

  bool string_list() const { return kind == Kind::kBytesList || kind == Kind::kTextList; }
  /// The bytes of row `i`, without what only its batch added: what the digest of an epoch is made of. Of a list of strings those
  /// of all its strings end to end; the digest takes how long each is (uint32) behind them.
  std::span<const uint8_t> row(int64_t i) const;
  /// Lists of strings: the string of that number among those of all rows.
  std::span<const uint8_t> string(int64_t number) const;
};

/// What one step of training gets on one rank.
struct Batch {
  std::vector<BatchField> fields;
  std::vector<int64_t> ids;        ///< of the samples in the data set, one per row, repeats included
  std::vector<int64_t> positions;  ///< in the epoch's global order
  int64_t padding = 0;             ///< how many rows at the end are repeats
  int64_t epoch = 0;
  int64_t step = 0;

  int64_t size() const { return static_cast<int64_t>(ids.size()); }
  /// The field of that name, or null.
  const BatchField* find(std::string_view name) const;
};

}  // namespace forebay
