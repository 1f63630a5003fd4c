#include "store/http/content_range.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(ContentRange, WhatContradictsItselfOrOverflowsIsNone) {
  for (const char* text : {"", "bytes", "bytes ", "bytes 0-9", "bytes */10", "bytes 5-4/10", "bytes 0-10/10",
                           "bytes 0-9/", "bytes 0-9/x", "bytes -1-9/10", "bytes 0/9-10", "bytes 0- 9/10",
                           "bytes 0-9/10 ", "items 0-9/10", "bytes 0-9/10/11", "bytes 0-18446744073709551616/*"}) {
    EXPECT_FALSE(parse_content_range(text).has_value()) << text;
  }
}

TEST(ContentRange, TheUnitMayBeInAnyCase) {
  for (const char* text : {"bytes 0-9/10", "Bytes 0-9/10", "BYTES 0-9/10"}) {
    const auto range = parse_content_range(text);
    ASSERT_TRUE(range.has_value()) << text;
    EXPECT_EQ(range->last, 9u) << text;
  }
}

TEST(ContentRange, NoPartIsAnEmptyOne) {
  EXPECT_EQ(check_part({0, 0}, "bytes 0-9/10", 10).code(), Code::kUnavailable);
  EXPECT_EQ(check_part({10, 0}, "bytes 10-10/100", 1).code(), Code::kUnavailable);
}

TEST(ContentRange, AnUnknownTotalIsNotZero) {
  const auto range = parse_content_range("bytes 3-18446744073709551615/*");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 3u);
  EXPECT_EQ(range->last, UINT64_MAX);
  EXPECT_FALSE(range->total.has_value());
}

TEST(ContentRange, OnlyThePartOrItsBeginningIsAccepted) {
  struct Case {
    const char* header;
    uint64_t body_bytes;
    bool accepted;
  };
  for (const Case& at : {Case{"bytes 10-19/100", 10, true}, Case{"bytes 10-14/15", 5, true},
                         Case{"bytes 10-20/100", 11, false}, Case{"bytes 9-18/100", 10, false},
                         Case{"bytes 11-19/100", 9, false}, Case{"bytes 10-19/100", 9, false}, Case{"", 10, false}}) {
    const Status status = check_part({10, 10}, at.header, at.body_bytes);
    EXPECT_EQ(status.code(), at.accepted ? Code::kOk : Code::kUnavailable) << at.header << " with " << at.body_bytes;
  }
}

}  // namespace
}  // namespace forebay
