#include "stream/broker_url.h"

#include <gtest/gtest.h>

namespace forebay {

TEST(BrokerUrl, HasItsPartsWithPercentSignsUndone) {
  const auto url = parse_broker_url("redis://us%40er:pa%2Fss%3A@host:7000/2/a%2Fb%20c", 6379);
  ASSERT_TRUE(url.ok()) << url.status().to_string();
  EXPECT_EQ(url->user, "us@er");
  EXPECT_EQ(url->password, "pa/ss:");
  EXPECT_EQ(url->hosts.at(0).to_string(), "host:7000");
  EXPECT_EQ(url->path, (std::vector<std::string>{"2", "a/b c"}));
  EXPECT_EQ(url->without_credentials(), "redis://host:7000/2/a/b c");
}

TEST(BrokerUrl, HostsWithoutAPortHaveTheUsualOne) {
  const auto url = parse_broker_url("kafka://a,[fd00::7],b:1,[::1]:2/topic", 9092);
  ASSERT_TRUE(url.ok()) << url.status().to_string();
  EXPECT_EQ(url->without_credentials(), "kafka://a:9092,[fd00::7]:9092,b:1,[::1]:2/topic");
}

TEST(BrokerUrl, WhatIsNoneIsRefusedWithoutItsSecrets) {
  for (const std::string text :
       {"", "host", "redis:/host", "redis://", "redis:///x", "redis://:secret/more@host/x", "redis://user:secret@/x",
        "redis://user:secret@ho st/x", "redis://user:secret%zz@host/x", "redis://user:secret@host:0/x",
        "redis://user:secret@host:x/x", "redis://user:secret@host:99999/x", "redis://user:secret@a,/x",
        "redis://user:secret@host/%00"}) {
    const auto url = parse_broker_url(text, 6379);
    EXPECT_EQ(url.status().code(), Code::kInvalidArgument) << text;
    EXPECT_EQ(url.status().message().find("secret"), std::string::npos) << url.status().message();
  }
}

TEST(BrokerUrl, SecretsAreBlottedOut) {
  EXPECT_EQ(without_secret("AUTH abc and abcabc", "abc"), "AUTH *** and ******");
  EXPECT_EQ(without_secret("nothing", ""), "nothing");
}

}  // namespace forebay
