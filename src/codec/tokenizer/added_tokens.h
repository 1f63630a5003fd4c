#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forebay/result.h"

namespace forebay {

/// An entry of `added_tokens`: a text that is always one token.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  /// Matches only between characters that belong to no word.
  bool single_word = false;
  bool strips_left = false, strips_right = false;  ///< the match includes adjacent blanks
  bool normalized = false;                         ///< matched after normalization
};

/// Parses the list of a tokenizer file.
Result<std::vector<AddedToken>> read_added_tokens(const nlohmann::json& list);

/// Finds added tokens in a text. The match that begins first wins, and of several that begin there
/// the longest.
/// Immutable once filled.
class AddedTokens {
 public:
  void add(AddedToken token);
  bool empty() const { return empty_; }

  /// Calls `between(begin, end)` for each non-empty text between tokens, and `found(id)` for each
  /// token, in order.
  template <typename Between, typename Found>
  void split(std::string_view text, Between between, Found found) const {
    size_t begin = 0;
    for (size_t at = 0; !empty_ && at < text.size();) {
      const AddedToken* const token = next(text, at);
      if (token == nullptr) break;
      size_t end = at + token->text.size();
      if (const Match match = match_at(*token, text, at, end, begin); match.taken) {
        if (match.begin > begin) between(begin, match.begin);
        found(token->id);
        begin = match.end;
      }
      at = end;
    }
    if (begin < text.size()) between(begin, text.size());
  }

 private:
  struct Match {
    bool taken = true;
    size_t begin = 0, end = 0;
  };
  const AddedToken* next(std::string_view text, size_t& at) const;
  static Match match_at(const AddedToken& token, std::string_view text, size_t begin, size_t end, size_t min_begin);

  std::array<std::vector<AddedToken>, 256> by_first_;  ///< longest first
  bool empty_ = true;
};

}  // namespace forebay
