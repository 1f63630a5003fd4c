#pragma once

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
  /// Limit of the bytes of a replacement; the longest of SentencePiece's own tables has 33.
  static constexpr size_t kMaxText = 128;

  /// Parses the table in a tokenizer.json. Corrupt or Unsupported if that fails.
  static Result<Charsmap> parse(std::string_view base64);

  /// The replacement of `chunk`, which has no NUL: the text of the shortest entry that is a prefix
  /// of it. Returns nullopt if there is none.
  std::optional<std::string_view> find(std::string_view chunk) const;

 private:
  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace forebay
