#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// SentencePiece's table of what becomes of which characters ("precompiled_charsmap"): a double array over bytes (darts-clone's layout), and the texts.
class Charsmap {
 public:
  static constexpr size_t kMostText =
      128;  ///< bytes of a replacement; the longest of SentencePiece's own tables has 33

  /// `base64`: as a tokenizer.json has it. Corrupt, Unsupported.
  static Result<Charsmap> parse(std::string_view base64);

  /// What stands for `chunk`, which has no NUL: the text of the shortest entry that it begins with. Nothing if there is none.
  std::optional<std::string_view> find(std::string_view chunk) const;

 private:
  std::vector<uint32_t> units_;
  std::string texts_;
};

}  // namespace forebay
