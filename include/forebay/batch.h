#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/tensor.h"

namespace forebay {

/// One field of a batch. Copies of its tensors share memory, which returns to the loader when the
/// last copy is destroyed.
struct BatchField {
  enum class Kind : uint8_t {
    kDense,   ///< values: (n, ...)
    kRagged,  ///< values: (total, ...), offsets: int64 (n + 1,)
    kBytes,   ///< values: uint8 (total,), offsets: int64 (n + 1,)
    kText,    ///< as kBytes, UTF-8
    /// values: uint8 (total,), offsets: int64 (n + 1,) in strings, string_offsets: int64
    /// (strings + 1,) in bytes
    kBytesList,
    kTextList,  ///< as kBytesList, UTF-8
  };
  std::string name;
  Kind kind = Kind::kDense;
  Tensor values;
  Tensor offsets;
  /// For lists of strings: where each string begins in `values`. Row i has the strings from
  /// offsets[i] to offsets[i + 1].
  Tensor string_offsets = {};
  /// For rows that were padded to the longest of their batch: length of each row's own part along
  /// the first axis. Empty for all others.
  std::vector<int64_t> lengths = {};

  bool string_list() const { return kind == Kind::kBytesList || kind == Kind::kTextList; }
  /// Returns the bytes of row `i` without padding to other rows. The digest of an epoch is computed
  /// from them. For a list of strings they are all strings end to end; the digest adds the length
  /// of each (uint32) after them.
  std::span<const uint8_t> row(int64_t i) const;
  /// For lists of strings: returns string `number`, counted over all rows.
  std::span<const uint8_t> string(int64_t number) const;
};

/// Rows of one training step on one rank.
struct Batch {
  std::vector<BatchField> fields;
  std::vector<int64_t> ids;        ///< sample id of each row, repeats included
  std::vector<int64_t> positions;  ///< position of each row in the epoch's global order
  /// The part that each row comes from, by number: the data set, of those of all parts and of their
  /// parts, depth first. Empty if there are no parts, and for packed blocks that parts share.
  std::vector<int32_t> parts = {};
  std::shared_ptr<const std::vector<std::string>> part_names = {};  ///< by number; null if rows have no part
  int64_t padding = 0;                                              ///< how many rows at the end are repeats
  int64_t epoch = 0;
  int64_t step = 0;
  /// Number of rows of the fields, if a function on whole batches made more or fewer of them than
  /// there are samples. Nothing if each row is one of the samples.
  std::optional<int64_t> made_rows = {};
  /// The object that a function of another language made of all samples, in place of fields. Null
  /// if the batch has fields.
  std::shared_ptr<void> object = {};

  /// Number of rows of the fields.
  int64_t size() const { return made_rows.value_or(static_cast<int64_t>(ids.size())); }
  /// Returns the field of that name, or null. The batch owns it.
  const BatchField* find(std::string_view name) const;
};

}  // namespace forebay
