#include "format/files/path_pattern.h"

#include <gtest/gtest.h>

#include "forebay/stats/store.h"
#include "format/files/braces.h"
#include "format/files/glob.h"
#include "store/memory/memory_store.h"

namespace forebay {
namespace {

const std::vector<std::string> kOdd = {"run[1]", "{a,b}", "{1..2}", "what?", "all*",  "[", "[]",
                                       "a[!b]c", "{x}",   "x{y",    "[*]",   "[[]1]", "]", "}"};

TEST(PathPattern, an_escaped_name_is_a_pattern_of_that_name_alone) {
  for (const std::string& name : kOdd) {
    const std::string pattern = escaped(name);
    EXPECT_EQ(first_special(pattern), std::string::npos) << pattern;
    EXPECT_EQ(without_escapes(pattern), name);
    EXPECT_EQ(expand_braces(pattern).value(), std::vector<std::string>{pattern});
    EXPECT_TRUE(matches_name(pattern, name)) << pattern;
    EXPECT_EQ(pattern_base(pattern + "/*.txt"), name + "/");
    EXPECT_EQ(Glob(pattern + "/*.txt").base(), name + "/");
    const Status nothing = nothing_matches(*memory_store(), pattern, pattern, pattern);
    EXPECT_EQ(nothing.code(), Code::kNotFound);
    EXPECT_EQ(nothing.message().find("taken as a pattern"), std::string::npos) << "its special characters are escaped";
  }
}

TEST(PathPattern, special_characters_are_found_outside_of_escapes) {
  EXPECT_EQ(first_special("a[*]b*"), 5u);
  EXPECT_EQ(first_special("[{]a,b[}]"), std::string::npos);
  EXPECT_EQ(first_special("{a,b}"), 0u);
  EXPECT_EQ(first_wildcard("{a,b}[[]?"), 8u);
  EXPECT_EQ(pattern_base("a/{b,c}/d"), "a/");
  EXPECT_EQ(pattern_base("a/[[]/b*"), "a/[/");
  EXPECT_EQ(pattern_base("*"), "");
}

TEST(PathPattern, what_exists_is_escaped_as_far_as_it_exists) {
  const auto store = memory_store();
  for (const char* const key : {"d/run[1]/t.txt", "d/run1/t.txt", "d/{a,b}/x[1]/t", "plain/x"})
    store->put(key, std::string_view("x"));
  const auto given = [&](const std::string& path) { return escape_existing(*store, path, {}).value(); };
  EXPECT_EQ(given("d/run[1]/t.txt"), "d/run[[]1[]]/t.txt");
  EXPECT_EQ(given("d/run[1]"), "d/run[[]1[]]");
  EXPECT_EQ(given("d/run[1]/"), "d/run[[]1[]]/");
  EXPECT_EQ(given("d/run[1]/*.txt"), "d/run[[]1[]]/*.txt");
  EXPECT_EQ(given("d/run[[]1[]]/t.txt"), "d/run[[]1[]]/t.txt") << "an escape stays one";
  EXPECT_EQ(given("d/run[2]/t.txt"), "d/run[2]/t.txt");
  EXPECT_EQ(given("d/{a,b}/x[1]/t"), "d/[{]a,b[}]/x[[]1[]]/t");
  EXPECT_EQ(given("d/{a,c}/x[1]/t"), "d/{a,c}/x[1]/t");
  const uint64_t before = store->stats().requests;
  EXPECT_EQ(given("plain/x"), "plain/x");
  EXPECT_EQ(store->stats().requests, before) << "nothing is special, nothing is asked";
}

}  // namespace
}  // namespace forebay
