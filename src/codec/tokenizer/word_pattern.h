#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace forebay {

/// How a text is cut into words, each of which is encoded by itself.
enum class WordPattern : uint8_t {
  kNone,     ///< not at all
  kGpt2,     ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kDigits3,  ///< cl100k's: letters with one sign before, at most three digits, line ends by themselves
  kDigits1,  ///< the same with single digits
};

/// The patterns as tokenizer files write the last two.
constexpr std::string_view kDigits3Text =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kDigits1Text =
    R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re";

/// Where the word that begins at `at` < text.size() ends, `at` being where the one before it ended. `text` is UTF-8. Linear in the word.
size_t word_end(WordPattern pattern, std::string_view text, size_t at);

}  // namespace forebay
