#include "cluster/token.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "store/scratch_folder.h"

namespace forebay {

TEST(Token, NewOnesAreGoodAndDiffer) {
  const auto one = new_token(), other = new_token();
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_NE(*one, *other);
  EXPECT_TRUE(check_token(*one).ok());
}

TEST(Token, SecretsAreTheSameOnlyWhereAllOfThemIs) {
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_TRUE(same_secret("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "abcd", "Abc"}) {
    EXPECT_FALSE(same_secret("abc", other)) << other;
    EXPECT_FALSE(same_secret(other, "abc")) << other;
  }
  EXPECT_FALSE(same_secret(std::string_view("abc\0", 4), "abc")) << "a zero at the end is a letter, too";
}

TEST(Token, WhatCannotBeOneIsRefusedWithoutBeingShown) {
  for (const std::string token : {"", "tooshort", "0123456789abcde ", "0123456789abcdef\n", "0123456789abcd\xc3\xa4"}) {
    const Status status = check_token(token);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << token;
    EXPECT_TRUE(token.empty() || status.message().find(token) == std::string::npos);
  }
  EXPECT_FALSE(check_token(std::string(257, 'a')).ok());
}

TEST(Token, TheEnvironmentNamesItOrItsFile) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/token";
  std::ofstream(path) << "of-the-file-0123456789\n";
  ::unsetenv("FOREBAY_CLUSTER_TOKEN");
  ::unsetenv("FOREBAY_CLUSTER_TOKEN_FILE");
  EXPECT_EQ(*token_from_environment(), "");
  ::setenv("FOREBAY_CLUSTER_TOKEN_FILE", path.c_str(), 1);
  EXPECT_EQ(*token_from_environment(), "of-the-file-0123456789");
  ::setenv("FOREBAY_CLUSTER_TOKEN", "said-outright-0123456789", 1);
  EXPECT_EQ(*token_from_environment(), "said-outright-0123456789");
  ::unsetenv("FOREBAY_CLUSTER_TOKEN");
  ::setenv("FOREBAY_CLUSTER_TOKEN_FILE", (path + "-missing").c_str(), 1);
  const auto missing = token_from_environment();
  EXPECT_EQ(missing.status().code(), Code::kInvalidArgument);
  EXPECT_NE(missing.status().message().find(path + "-missing"), std::string::npos);
  ::unsetenv("FOREBAY_CLUSTER_TOKEN_FILE");
}

}  // namespace forebay
