#include "stream/open/open_log.h"

#include <gtest/gtest.h>

#include "store/scratch_folder.h"

namespace forebay {

TEST(OpenLog, SchemesThatAreNoLogsAreUnsupportedByName) {
  for (const std::string url : {"amqp://host/queue", "s3://bucket/*.jsonl", "https://host/x"}) {
    const auto log = open_log({url});
    EXPECT_EQ(log.status().code(), Code::kUnsupported) << url << ": " << log.status().to_string();
    EXPECT_NE(log.status().message().find(url.substr(0, url.find(':'))), std::string::npos) << log.status().message();
  }
}

TEST(OpenLog, WhatThisBuildIsWithoutNamesItsPackage) {
#ifndef FOREBAY_WITH_REDIS
  EXPECT_NE(open_log({"redis://host/s"}).status().message().find("libhiredis-dev"), std::string::npos);
#endif
#ifndef FOREBAY_WITH_NATS
  EXPECT_NE(open_log({"nats://host/s"}).status().message().find("libnats-dev"), std::string::npos);
#endif
#ifndef FOREBAY_WITH_KAFKA
  EXPECT_NE(open_log({"kafka://host/s"}).status().message().find("librdkafka-dev"), std::string::npos);
#endif
}

TEST(OpenLog, FilesAreLinesOrWhole) {
  const ScratchFolder folder;
  folder.write("a.jsonl", "{\"n\": 1}\n");
  const std::string pattern = folder.path("*.jsonl");
  const auto lines = open_log({pattern}), json = open_log({pattern, "", R"({"n": "int8"})"}),
             whole = open_log({"file://" + pattern, "", "", true});
  ASSERT_TRUE(lines.ok() && json.ok() && whole.ok()) << whole.status().to_string();
  EXPECT_EQ((*lines)->schema().names(), "text, key");
  EXPECT_EQ((*json)->schema().names(), "n");
  EXPECT_EQ((*whole)->schema().names(), "bytes, key");
  EXPECT_EQ(open_log({pattern, "fields", R"({"n": "int8"})"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(open_log({pattern, "xml"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(open_log({folder.path("none-*")}).status().code(), Code::kNotFound);
}

}  // namespace forebay
