#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forebay/result.h"

namespace forebay {

/// Texts that are one token wherever they stand.
struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool alone = false;                            ///< only between characters that are of no word
  bool takes_left = false, takes_right = false;  ///< with the blanks there
  bool normalized = false;                       ///< looked for behind the normalizer
};

/// What the list in a file says.
Result<std::vector<AddedToken>> read_added_tokens(const nlohmann::json& list);

/// Finds tokens in a text: the first that begins, of these the longest. Immutable once filled.
class AddedTokens {
 public:
  void add(AddedToken token);
  bool empty() const { return empty_; }

  /// Calls `between(begin, end)` for what lies between tokens, if it is not empty, and `found(id)` for each token, in order.
  template <typename Between, typename Found>
  void split(std::string_view text, Between between, Found found) const {
    size_t begin = 0;
    for (size_t at = 0; !empty_ && at < text.size();) {
      const AddedToken* const token = next(text, at);
      if (token == nullptr) break;
      size_t end = at + token->text.size();
      if (const Place place = place_of(*token, text, at, end, begin); place.taken) {
        if (place.begin > begin) between(begin, place.begin);
        found(token->id);
        begin = place.end;
      }
      at = end;
    }
    if (begin < text.size()) between(begin, text.size());
  }

 private:
  struct Place {
    bool taken = true;
    size_t begin = 0, end = 0;
  };
  const AddedToken* next(std::string_view text, size_t& at) const;
  static Place place_of(const AddedToken& token, std::string_view text, size_t begin, size_t end, size_t free_from);

  std::array<std::vector<AddedToken>, 256> by_first_;  ///< the longest first
  bool empty_ = true;
};

}  // namespace forebay
