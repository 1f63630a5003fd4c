#include "format/files/braces.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace forebay {
namespace {

struct BraceCase {
  const char* pattern;
  std::vector<std::string> names;
};

TEST(Braces, AnswersAreThoseOfAShellWhereBothHaveOne) {
  const BraceCase cases[] = {
      {"a{b,{c,d{1..2}}}e", {"abe", "ace", "ad1e", "ad2e"}},
      {"{{a,b},{c,d}}", {"a", "b", "c", "d"}},
      {"{,a}{,b}", {"", "b", "a", "ab"}},
      {"{a,,b}", {"a", "", "b"}},
      {"{x{a,b}}", {"{xa}", "{xb}"}},
      {"{x..{a,b}}", {"{x..a}", "{x..b}"}},  // not a range, but the inner alternatives are expanded
      {"{1..3,5}", {"1..3", "5"}},
      {"{a,b", {"{a,b"}},
      {"a,b}", {"a,b}"}},
      {"{{a,b}", {"{a", "{b"}},
      {"{a,b}}", {"a}", "b}"}},
      {"{5..5}", {"5"}},
      {"{3..1}{x,y}", {"3x", "3y", "2x", "2y", "1x", "1y"}},
      {"{a,b}/{a,b}", {"a/a", "a/b", "b/a", "b/b"}},
      {"\xc3\xa9{1,\xff}",
       {"\xc3\xa9"
        "1",
        "\xc3\xa9\xff"}},
  };
  for (const BraceCase& one : cases) EXPECT_EQ(expand_braces(one.pattern).value(), one.names) << one.pattern;
}

TEST(Braces, NumbersKeepTheWidthOfTheLongerBoundWhereOneIsFilledUp) {
  const BraceCase cases[] = {
      {"{08..11}", {"08", "09", "10", "11"}},
      {"{8..011}", {"008", "009", "010", "011"}},
      {"{0..2}", {"0", "1", "2"}},
      {"{00..1}", {"00", "01"}},
      {"{002..0}", {"002", "001", "000"}},
      {"{9223372036854775806..9223372036854775807}", {"9223372036854775806", "9223372036854775807"}},
  };
  for (const BraceCase& one : cases) EXPECT_EQ(expand_braces(one.pattern).value(), one.names) << one.pattern;
}

TEST(Braces, WhatIsNoRangeOfWholeNumbersStandsForItself) {
  for (const char* text : {"{1...3}", "{1..2..3}", "{1.. 3}", "{+1..3}", "{0x1..3}", "{..}", "{..3}", "{1.5..2}",
                           "{9223372036854775808..9223372036854775809}"})
    EXPECT_EQ(expand_braces(text).value(), std::vector<std::string>{text});
}

TEST(Braces, AMillionNamesAreAllowedAndOneMoreIsNot) {
  EXPECT_EQ(expand_braces("{1..1000}{1..1000}").value().size(), 1'000'000u);
  for (const char* pattern : {"{0..1000000}", "{1..1000}{0..1000}", "x{1..1000000}{a,b}"}) {
    const Status status = expand_braces(pattern).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << pattern;
    EXPECT_NE(status.message().find(fmt::format("'{}' stands for more than 1000000 names", pattern)), std::string::npos)
        << status.message();
  }
}

TEST(Braces, NamesThatAreLongTogetherAreRefusedBeforeTheyFillTheMemory) {
  const std::string zeros(5000, '0'), text(5000, 'y');
  EXPECT_EQ(expand_braces(text + "{a,b}").value().size(), 2u);
  EXPECT_EQ(expand_braces("{" + zeros + ".." + zeros + "1}").value()[1], zeros + "1");
  for (const std::string& pattern : {text + "{1..100000}", "{1..100000}" + text, "{1..100000}{" + zeros + "..1}",
                                     "{" + zeros + "..100000}", "{a,b}{" + text + "}{1..40000}"})
    EXPECT_EQ(expand_braces(pattern).status().code(), Code::kInvalidArgument) << pattern.substr(0, 30);
}

}  // namespace
}  // namespace forebay
