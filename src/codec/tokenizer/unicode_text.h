#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Character properties exactly as Hugging Face's `tokenizers` has them, which may differ from
/// those of the current version of Unicode. tools/tokenizer_tables makes the tables. Codes are
/// Unicode code points.
namespace forebay::unicode {

bool is_space(uint32_t code);            ///< White_Space
bool is_removed_by_bert(uint32_t code);  ///< removed by BertNormalizer
bool is_punctuation(uint32_t code);      ///< a word of its own in BertPreTokenizer
bool is_nonspacing(uint32_t code);       ///< an accent in BertNormalizer
bool is_combining(uint32_t code);        ///< an accent in StripAccents
bool is_word(uint32_t code);             ///< \w
bool is_chinese(uint32_t code);          ///< surrounded with blanks by BertNormalizer

/// The lower case of a character: at most two codes.
struct LowerCase {
  uint32_t first, second = 0;
};
LowerCase lower(uint32_t code);

/// Appends the decomposition of the character, or the character itself if it has none.
/// `compatible`: the compatibility decomposition (NFKC, NFKD) instead of the canonical one (NFC,
/// NFD).
void decompose(uint32_t code, bool compatible, std::vector<uint32_t>& out);
/// Sorts each run of combining marks by their canonical class (Unicode's Canonical Ordering). All
/// four normal forms need it after decompose().
void order_marks(std::vector<uint32_t>& codes);
/// Composes characters with their marks (canonical composition), the last step of NFC and NFKC.
void compose(std::vector<uint32_t>& codes);

/// Returns the end of the grapheme (UAX #29) that begins at `at`. `at` is 0 or the end of the
/// grapheme before, and less than text.size(). `text` is UTF-8.
size_t grapheme_end(std::string_view text, size_t at);

}  // namespace forebay::unicode
