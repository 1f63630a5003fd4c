#include "format/files/open_store.h"

#include <gtest/gtest.h>

#include "store/scratch_folder.h"

namespace forebay {
namespace {

struct UrlCase {
  const char *url, *store, *path;
};

TEST(ParseUrl, TellsTheStoreAndTheKeyInIt) {
  const UrlCase cases[] = {
      {"a/b", "", "a/b"},
      {".", "", "."},
      {"C:\\x", "", "C:\\x"},
      {"a%20b", "", "a%20b"},  // only URLs are encoded
      {"a://b c", nullptr, ""},
      {"://b", "", "://b"},
      {"x y://b", "", "x y://b"},
      {"s3:/bucket/x", "", "s3:/bucket/x"},
      {"file:///a%2Fb%25", "", "/a/b%"},
      {"file://localhost/", "", "/"},
      {"file:///", "", "/"},
      {"file:///a?b#c", "", "/a?b#c"},  // ordinary characters of names
      {"s3://bucket", "s3://bucket", ""},
      {"s3://bucket/", "s3://bucket", ""},
      {"s3://bucket/a//b%20?c", "s3://bucket", "a//b%20?c"},
      {"http://host/a?b", "http", "http://host/a?b"},
      {"https://host", "http", "https://host"},
      {"file://host/a", nullptr, ""},
      {"file://", nullptr, ""},
      {"file:///%", nullptr, ""},
      {"file:///a%g0", nullptr, ""},
      {"s3://", nullptr, ""},
      {"s3:///x", nullptr, ""},
      {"S3X://b/x", nullptr, ""},
      {"", nullptr, ""},
  };
  for (const UrlCase& one : cases) {
    SCOPED_TRACE(one.url);
    const auto place = parse_url(one.url);
    ASSERT_EQ(place.ok(), one.store != nullptr) << place.status().to_string();
    if (!place.ok()) continue;
    EXPECT_EQ(place->store, one.store);
    EXPECT_EQ(place->path, one.path);
  }
}

TEST(ParseUrl, WhatIsNoneIsToldAsItWasWrittenWithTheWayOut) {
  const std::pair<const char*, const char*> cases[] = {
      {"file://data/x", "'file://data/x': a file URL has three slashes"},
      {"file:///a%4", "'file:///a%4': a '%' without two hexadecimal digits"},
      {"az://bucket/x", "no storage is called 'az'; known are plain paths, file://, s3://"},
      {"gs://bucket/x", "write s3://bucket/x with the storage options endpoint=https://storage.googleapis.com"},
      {"s3a://bucket/x", "write s3://bucket/x"},
      {"", "'.' is the current folder"},
  };
  for (const auto& [url, message] : cases)
    EXPECT_NE(parse_url(url).status().message().find(message), std::string::npos) << parse_url(url).status().message();
}

TEST(OpenStore, AnOptionThatNobodyKnowsIsToldWithThoseThereAre) {
  for (const char* url : {"a/b", "s3://bucket/x", "https://host/x"}) {
    const Status status = open_store(url, {{"endpiont", "x"}}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << url;
    EXPECT_NE(status.message().find("endpiont"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("imitate_latency_ms"), std::string::npos) << status.message();
  }
}

TEST(OpenStore, StoresOfOnePlaceAndOptionsAreSharedAndOthersAreNot) {
  const StorageOptions keys = {{"access_key_id", "a"}, {"secret_access_key", "b"}, {"region", "r"}};
  const auto open_with = [&](const char* url, const char* name, const char* value) {
    StorageOptions options = keys;
    options[name] = value;
    const auto opened = open_store(url, options);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return opened.value().store;
  };
  const auto one = open_with("s3://bucket/a", "region", "r");
  EXPECT_EQ(one, open_with("s3://bucket/b/c", "region", "r"));
  EXPECT_NE(one, open_with("s3://bucket2/a", "region", "r"));
  EXPECT_NE(one, open_with("s3://bucket/a", "region", "other"));
  EXPECT_NE(one, open_with("s3://bucket/a", "secret_access_key", "other")) << "another's rights";
  EXPECT_NE(one, open_with("s3://bucket/a", "imitate_latency_ms", "1"));
  EXPECT_EQ(open_store("https://a/x").value().store, open_store("http://b/y").value().store);
}

TEST(OpenStore, ALinkIsImitatedWithTheNumbersGiven) {
  ScratchFolder folder;
  folder.write("x", "1");
  const auto read_with = [&](const StorageOptions& options) {
    const auto place = open_store(folder.path("x"), options);
    if (!place.ok()) return place.status();
    ReadRequest request;
    request.key = place->path;
    return read_wait(*place->store, request, {}).status();
  };
  EXPECT_TRUE(read_with({}).ok());
  EXPECT_TRUE(read_with({{"imitate_error_rate", "0"}, {"imitate_seed", "7"}}).ok());
  EXPECT_EQ(read_with({{"imitate_error_rate", "1"}}).code(), Code::kUnavailable);
  for (const char* wrong : {"", "x", "-1", "1x", " 1", "nan", "inf", "1e999", "0x10"}) {
    for (const char* name : {"imitate_latency_ms", "imitate_seed", "imitate_bandwidth_bytes_per_s"}) {
      const Status status = read_with({{name, wrong}});
      EXPECT_EQ(status.code(), Code::kInvalidArgument) << name << "=" << wrong;
      EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
    }
  }
  EXPECT_EQ(read_with({{"imitate_seed", "1e30"}}).code(), Code::kInvalidArgument) << "no whole number of 64 bits";
  EXPECT_TRUE(read_with({{"imitate_seed", "9007199254740992"}}).ok());
}

}  // namespace
}  // namespace forebay
