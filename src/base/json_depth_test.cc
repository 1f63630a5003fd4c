#include "base/json_depth.h"

#include <string>

#include <gtest/gtest.h>

namespace forebay {
namespace {

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonDepth, counts_what_is_open) {
  EXPECT_FALSE(nests_too_deep("", 0));
  EXPECT_FALSE(nests_too_deep("17", 0));
  EXPECT_TRUE(nests_too_deep("[]", 0));
  EXPECT_FALSE(nests_too_deep(nested(5), 5));
  EXPECT_TRUE(nests_too_deep(nested(6), 5));
  EXPECT_FALSE(nests_too_deep("[" + nested(4) + "," + nested(4) + "]", 5));
  EXPECT_TRUE(nests_too_deep(R"({"a":[{"b":[]}]})", 3));
  EXPECT_TRUE(nests_too_deep(std::string(1'000'000, '[')));
}

TEST(JsonDepth, brackets_in_strings_are_text) {
  EXPECT_FALSE(nests_too_deep(R"(["[[[[", "{{{{"])", 1));
  EXPECT_FALSE(nests_too_deep(R"(["\"[[[[", "\\"])", 1));
  EXPECT_TRUE(nests_too_deep(R"(["\\", [[]]])", 2));
}

}  // namespace
}  // namespace forebay
