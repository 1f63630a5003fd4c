#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace forebay {

/// The `model` of a tokenizer that works on characters: maps a word to ids. Immutable; any thread
/// may use it.
class PieceModel {
 public:
  virtual ~PieceModel() = default;
  /// Appends the ids of `word`, which is UTF-8 and not empty.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;
  /// Memory that encode() takes per byte of the longest word.
  virtual uint64_t working_bytes_per_byte() const = 0;
};

}  // namespace forebay
