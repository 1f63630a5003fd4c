#include "codec/tokenizer/word_pattern.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

using Words = std::vector<std::string>;

Words words(WordPattern pattern, std::string_view text) {
  Words found;
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(pattern, text, at);
    EXPECT_GT(end, at);
    if (end <= at) break;
    found.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

TEST(WordPattern, gpt2_gives_a_word_the_blank_before_it) {
  EXPECT_EQ(words(WordPattern::kGpt2, "It's  a test"), (Words{"It", "'s", " ", " a", " test"}));
  EXPECT_EQ(words(WordPattern::kGpt2, "we'll 12345!?\n\n x "), (Words{"we", "'ll", " 12345", "!?", "\n\n", " x", " "}));
  EXPECT_EQ(words(WordPattern::kGpt2, "'S \xc2\xa0y  "), (Words{"'", "S", " ", "\xc2\xa0", "y", "  "}));
}

TEST(WordPattern, cl100k_gives_it_any_sign_and_counts_digits) {
  EXPECT_EQ(words(WordPattern::kCl100k, "It'S (a) 12345"), (Words{"It", "'S", " (", "a", ")", " ", "123", "45"}));
  EXPECT_EQ(words(WordPattern::kCl100kSingleDigits, "x 12"), (Words{"x", " ", "1", "2"}));
  EXPECT_EQ(words(WordPattern::kCl100k, "a!!\n\n  \n b"), (Words{"a", "!!\n\n", "  \n", " b"}));
  EXPECT_EQ(words(WordPattern::kCl100k, "'\xc5\xbf\tword"), (Words{"'\xc5\xbf", "\tword"}));
}

TEST(WordPattern, without_a_pattern_all_is_one_word) { EXPECT_EQ(words(WordPattern::kNone, "a b"), (Words{"a b"})); }

}  // namespace
}  // namespace forebay
