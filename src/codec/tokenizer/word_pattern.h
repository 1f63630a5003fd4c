#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace forebay {

/// The pattern that divides a text into words, which are encoded one by one.
enum class WordPattern : uint8_t {
  kNone,     ///< the text is one word
  kGpt2,     ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kDigits3,  ///< cl100k's: letters with one leading sign, at most three digits, separate line ends
  kDigits1,  ///< the same with single digits
};

/// The last two patterns as tokenizer files write them.
constexpr std::string_view kDigits3Text =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kDigits1Text =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";

/// End of the word that begins at `at` < text.size(), where the previous one ended. `text` is
/// UTF-8. Takes time linear in the word.
size_t word_end(WordPattern pattern, std::string_view text, size_t at);

}  // namespace forebay
