#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Character properties as the normalizers of `tokenizers` have them (tools/tokenizer_tables
/// extracted them). Codes are Unicode code points.
namespace forebay::unicode {

bool is_space(uint32_t code);        ///< White_Space
bool is_cleaned(uint32_t code);      ///< removed by BertNormalizer
bool is_punctuation(uint32_t code);  ///< a word of its own in BertPreTokenizer
bool is_nonspacing(uint32_t code);   ///< an accent in BertNormalizer
bool is_combining(uint32_t code);    ///< an accent in StripAccents
bool is_word(uint32_t code);         ///< \w
bool is_chinese(uint32_t code);      ///< surrounded with blanks by BertNormalizer

/// The lower case of a character: at most two codes.
struct Lower {
  uint32_t first, second = 0;
};
Lower lower(uint32_t code);

/// Appends the decomposition of the character, or the character itself if it has none.
void decompose(uint32_t code, bool compatible, std::vector<uint32_t>& out);
/// Puts the marks after each character into canonical order. Then, for NFC and NFKC, composes
/// characters.
void order_marks(std::vector<uint32_t>& codes);
void compose(std::vector<uint32_t>& codes);

/// Role of a character in grapheme boundaries.
enum class Joint : uint8_t { kOther, kBreak, kExtend, kPrepend, kPicture, kL, kV, kT, kLV, kLVT, kFlag };
Joint joint(uint32_t code);
/// Role of a character in the conjuncts of Indic scripts (GB9c).
enum class Conjunct : uint8_t { kNone, kConsonant, kLinker, kExtend };
Conjunct conjunct(uint32_t code);

/// End of the grapheme that begins at `at` < text.size(), where the previous one ended. `text` is
/// UTF-8.
size_t grapheme_end(std::string_view text, size_t at);

}  // namespace forebay::unicode
