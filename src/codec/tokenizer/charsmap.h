#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// SentencePiece's table of character replacements ("precompiled_charsmap"): a double array over
/// bytes (darts-clone's layout), and the replacement texts. Immutable.
class Charsmap {
 public:
  /// Longest replacement that parse() accepts, in bytes; the longest of SentencePiece's own tables
  /// has 33.
  static constexpr size_t kMaxText = 128;

  /// Parses the table in a tokenizer.json. Corrupt if it is malformed; Unsupported if a
  /// replacement is longer than kMaxText.
  static Result<Charsmap> parse(std::string_view base64);

  /// Returns the text of the shortest entry that is a prefix of `chunk`, as `tokenizers` does
  /// (SentencePiece takes the longest), or nullopt if there is none. The caller passes a grapheme
  /// or a character, which is searched up to its first NUL.
  std::optional<std::string_view> replacement_of(std::string_view chunk) const;

 private:
  Charsmap() = default;

  std::vector<uint32_t> units_;  ///< the double array
  std::string texts_;            ///< replacement texts, each ended by NUL
};

}  // namespace forebay
