#include "format/files/glob.h"

#include <gtest/gtest.h>

#include "format/files/braces.h"

namespace forebay {

namespace {
std::vector<std::string> expand(std::string_view pattern) { return expand_braces(pattern).value(); }
using Names = std::vector<std::string>;
}  // namespace

TEST(Braces, CommasAndRangesInTheOrderWritten) {
  EXPECT_EQ(expand("x"), Names{"x"});
  EXPECT_EQ(expand("{b,a}x"), (Names{"bx", "ax"}));
  EXPECT_EQ(expand("s-{8..11}.tar"), (Names{"s-8.tar", "s-9.tar", "s-10.tar", "s-11.tar"}));
  EXPECT_EQ(expand("{098..101}"), (Names{"098", "099", "100", "101"}));
  EXPECT_EQ(expand("{2..0}"), (Names{"2", "1", "0"}));
  EXPECT_EQ(expand("{a,b}{0..1}"), (Names{"a0", "a1", "b0", "b1"}));
  EXPECT_EQ(expand("{a,b{1,2}}"), (Names{"a", "b1", "b2"}));
  EXPECT_EQ(expand("{a,}"), (Names{"a", ""}));
  EXPECT_EQ(expand("{000..099}").size(), 100u);
}

TEST(Braces, OthersStandForThemselves) {
  for (const char* text : {"{}", "{x}", "a{b", "a}b", "{a..z}", "{-1..2}", "{1..}", "}{", "{{}"})
    EXPECT_EQ(expand(text), Names{text});
  EXPECT_EQ(expand("{x}{a,b}"), (Names{"{x}a", "{x}b"}));
}

TEST(Braces, TooManyNamesAreRefused) {
  EXPECT_EQ(expand_braces("{0..99999999}").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(expand_braces("{0..9}{0..9}{0..9}{0..9}{0..9}{0..9}{0..9}{0..9}").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(expand_braces("{0..9223372036854775807}").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(expand("{0..999999}").size(), 1'000'000u);
}

TEST(Glob, Names) {
  EXPECT_TRUE(matches_name("*.jpg", "a.jpg"));
  EXPECT_TRUE(matches_name("*.jpg", ".jpg"));
  EXPECT_FALSE(matches_name("*.jpg", "a.jpgx"));
  EXPECT_TRUE(matches_name("a*b*c", "aXXbYYbZc"));
  EXPECT_FALSE(matches_name("a*b*c", "aXXbYY"));
  EXPECT_TRUE(matches_name("???", "abc"));
  EXPECT_TRUE(matches_name("?.png", "\xc3\xa9.png")) << "one character, two bytes";
  EXPECT_TRUE(matches_name("?", "\xff"));
  EXPECT_TRUE(matches_name("[a-c]x", "bx"));
  EXPECT_FALSE(matches_name("[!a-c]x", "bx"));
  EXPECT_TRUE(matches_name("[]x]", "]"));
  EXPECT_TRUE(matches_name("[a-]", "-"));
  EXPECT_TRUE(matches_name("[ab", "[ab")) << "never closed: characters";
  EXPECT_TRUE(matches_name("*", ""));
  EXPECT_FALSE(matches_name("", "a"));
  EXPECT_FALSE(matches_name(std::string(40, '*') + "b", std::string(10'000, 'a'))) << "no exponential time";
}

TEST(Glob, Paths) {
  const Glob glob("photos/*/x?.jpg");
  EXPECT_EQ(glob.base(), "photos/");
  EXPECT_TRUE(glob.matches("cats/x1.jpg"));
  EXPECT_FALSE(glob.matches("cats/more/x1.jpg"));
  EXPECT_FALSE(glob.matches("x1.jpg"));
  EXPECT_TRUE(glob.may_match_below("cats/"));
  EXPECT_FALSE(glob.may_match_below("cats/more/"));

  const Glob deep("/data/**/end/*.png");
  EXPECT_EQ(deep.base(), "/data/");
  EXPECT_TRUE(deep.matches("end/1.png"));
  EXPECT_TRUE(deep.matches("a/b/end/end/1.png"));
  EXPECT_FALSE(deep.matches("a/b/1.png"));
  EXPECT_TRUE(deep.may_match_below("a/b/c/"));

  const Glob all("photos/**");
  EXPECT_TRUE(all.matches("x"));
  EXPECT_TRUE(all.matches("a/b/x"));
  EXPECT_EQ(Glob("*.jpg").base(), "");
  EXPECT_TRUE(Glob("d1*/x").may_match_below("d12/"));
  EXPECT_FALSE(Glob("d1*/x").may_match_below("e/"));
}

}  // namespace forebay
