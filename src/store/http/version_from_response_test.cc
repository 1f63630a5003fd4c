#include "store/http/version_from_response.h"

#include <gtest/gtest.h>

#include "store/http/http_date.h"
#include "store/store.h"

namespace forebay {
namespace {

constexpr const char* kChanged = "Sun, 06 Nov 1994 08:49:37 GMT";

HttpResponse with(std::vector<HttpHeader> headers) {
  HttpResponse response;
  response.headers = std::move(headers);
  return response;
}

uint64_t version(std::vector<HttpHeader> headers, uint64_t size = 5, int seconds_later = 10) {
  return version_from_response(with(std::move(headers)), size,
                               *parse_http_date(kChanged) + std::chrono::seconds(seconds_later));
}

TEST(AnsweredVersion, AStrongETagIsEnough) {
  EXPECT_EQ(version({{"etag", "\"a\""}}), version_of_etag("\"a\"")) << "as listings have it";
  EXPECT_EQ(version({{"etag", "\"a\""}}, 5), version({{"etag", "\"a\""}, {"last-modified", kChanged}}, 6));
  EXPECT_NE(version({{"etag", "\"a\""}}), version({{"etag", "\"b\""}}));
}

TEST(AnsweredVersion, WeakerSignsCountTogetherWithTheSize) {
  for (const HttpHeader& sign : {HttpHeader{"etag", "W/\"a\""}, HttpHeader{"last-modified", kChanged}}) {
    EXPECT_NE(version({sign}), 0u) << sign.name;
    EXPECT_EQ(version({sign}), version({sign}));
    EXPECT_NE(version({sign}, 5), version({sign}, 6));
  }
  EXPECT_NE(version({{"etag", "W/\"a\""}}), version({{"etag", "W/\"b\""}}));
}

TEST(AnsweredVersion, WhatChangedThisVerySecondMayChangeAgainInIt) {
  EXPECT_EQ(version({{"last-modified", kChanged}}, 5, 0), 0u);
  EXPECT_NE(version({{"last-modified", kChanged}}, 5, 1), 0u);
  EXPECT_EQ(version({{"last-modified", kChanged}, {"date", kChanged}}), 0u) << "by the server's own clock";
  EXPECT_NE(version({{"last-modified", kChanged}, {"date", "Sun, 06 Nov 1994 08:49:38 GMT"}}, 5, 0), 0u);
}

TEST(AnsweredVersion, NothingToGoByIsNoVersion) {
  EXPECT_EQ(version({}), 0u);
  EXPECT_EQ(version({{"last-modified", "yesterday"}, {"date", kChanged}}), 0u);
}

}  // namespace
}  // namespace forebay
