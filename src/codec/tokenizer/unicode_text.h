#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Characters as the normalizers of `tokenizers` see them (tools/tokenizer_tables asked it). Codes are Unicode's.
namespace forebay::unicode {

bool is_space(uint32_t code);        ///< White_Space
bool is_cleaned(uint32_t code);      ///< what BertNormalizer leaves out
bool is_punctuation(uint32_t code);  ///< what BertPreTokenizer makes a word of its own
bool is_nonspacing(uint32_t code);   ///< what BertNormalizer calls an accent
bool is_combining(uint32_t code);    ///< what StripAccents does
bool is_word(uint32_t code);         ///< \w
bool is_chinese(uint32_t code);      ///< what BertNormalizer puts blanks around

/// At most two codes.
struct Lower {
  uint32_t first, second = 0;
};
Lower lower(uint32_t code);

/// Appends what the character is decomposed into: itself, if it is not.
void decompose(uint32_t code, bool compatible, std::vector<uint32_t>& out);
/// Orders the marks behind each character as the standard wants it; then, for NFC and NFKC, puts together what belongs together.
void order_marks(std::vector<uint32_t>& codes);
void compose(std::vector<uint32_t>& codes);

/// How characters stand together to one that a reader sees.
enum class Joint : uint8_t { kOther, kBreak, kExtend, kPrepend, kPicture, kL, kV, kT, kLV, kLVT, kFlag };
Joint joint(uint32_t code);
enum class Conjunct : uint8_t { kNone, kConsonant, kLinker, kExtend };
Conjunct conjunct(uint32_t code);

/// Where the grapheme that begins at `at` < text.size() ends. `text` is UTF-8. `at` is where the one before it ended.
size_t grapheme_end(std::string_view text, size_t at);

}  // namespace forebay::unicode
