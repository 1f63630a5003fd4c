#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace forebay {

/// The pattern that divides a text into words, which are encoded one by one.
enum class WordPattern : uint8_t {
  kNone,                ///< the text is one word
  kGpt2,                ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kCl100k,              ///< see kCl100kRegex
  kCl100kSingleDigits,  ///< the same, with each digit a word of its own
};

/// The regular expressions in a tokenizer.json (`pre_tokenizer`, Split) that select the last two
/// patterns. BpeReader compares them as text.
constexpr std::string_view kCl100kRegex =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kCl100kSingleDigitsRegex =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";

/// Returns the end of the word that begins at `at`. `at` is 0 or the end of the word before, and
/// less than text.size(). `text` is UTF-8. Takes time linear in the word.
size_t word_end(WordPattern pattern, std::string_view text, size_t at);

}  // namespace forebay
