#include "brokers/redis/redis_reply.h"

#include <gtest/gtest.h>

#include "brokers/redis/redis_answers.h"
#include "brokers/redis/redis_connection.h"
#include "stream/broker/redis_address.h"
#include "stream/named_values.h"

namespace forebay {

namespace {

std::span<const uint8_t> bytes_in(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

constexpr std::string_view kTwoEntries =
    "*1\r\n*2\r\n$1\r\ns\r\n*2\r\n"
    "*2\r\n$3\r\n1-0\r\n*4\r\n$1\r\na\r\n$2\r\nxy\r\n$1\r\nb\r\n$0\r\n\r\n"
    "*2\r\n$3\r\n2-7\r\n*-1\r\n";

}  // namespace

TEST(RedisReply, EntriesComeOutOfAnyPieces) {
  for (size_t step = 1; step <= kTwoEntries.size(); ++step) {
    RedisParser parser;
    for (size_t at = 0; at < kTwoEntries.size(); at += step) {
      const auto early = parser.next();
      ASSERT_TRUE(early.ok());
      EXPECT_EQ(*early, nullptr);
      parser.feed(bytes_in(kTwoEntries.substr(at, step)));
    }
    const auto reply = parser.next();
    ASSERT_TRUE(reply.ok() && *reply != nullptr);
    const auto streams = read_entries(**reply);
    ASSERT_TRUE(streams.ok()) << streams.status().to_string();
    ASSERT_EQ(streams->size(), 1u);
    EXPECT_EQ((*streams)[0].stream, "s");
    ASSERT_EQ((*streams)[0].entries.size(), 2u);
    const StreamEntry &first = (*streams)[0].entries[0], &second = (*streams)[0].entries[1];
    const Buffer payload = (*reply)->strings(first.first, first.last);
    const auto values = named_values(payload.span());
    ASSERT_TRUE(values.ok());
    ASSERT_EQ(values->size(), 2u);
    EXPECT_EQ((*values)[0].first, "a");
    EXPECT_EQ((*values)[0].second.size(), 2u);
    EXPECT_EQ((*values)[1].first, "b");
    EXPECT_TRUE((*values)[1].second.empty());
    EXPECT_EQ(second.id, (StreamId{2, 7}));
    EXPECT_LT(second.last, second.first);
  }
}

TEST(RedisReply, StringsThatLieInTwoBuffersAreJoined) {
  const std::string large(200 << 10, 'x'), larger(400 << 10, 'y');
  std::string text = "*4\r\n";
  for (const std::string* each : {&large, &large, &larger, &large}) {
    text += "$" + std::to_string(each->size()) + "\r\n" + *each + "\r\n";
  }
  RedisParser parser;
  parser.feed(bytes_in(text));
  const auto reply = parser.next();
  ASSERT_TRUE(reply.ok() && *reply != nullptr);
  const Buffer joined = (*reply)->strings(1, 4);
  const auto values = named_values(joined.span());
  ASSERT_TRUE(values.ok()) << values.status().to_string();
  EXPECT_EQ((*values)[0].first, large);
  EXPECT_EQ((*values)[1].first, larger);
  EXPECT_EQ((*values)[1].second.size(), large.size());
}

TEST(RedisReply, WhatIsNoAnswerIsCorrupt) {
  RedisParser parser;
  parser.feed(bytes_in("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_EQ(parser.next().status().code(), Code::kCorrupt);
  for (const std::string_view text :
       {"+OK\r\n", ":1\r\n", "*1\r\n:1\r\n", "*1\r\n*2\r\n$1\r\ns\r\n:1\r\n",
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$1\r\nx\r\n*0\r\n",
        "*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*1\r\n$1\r\na\r\n",
        "*1\r\n*2\r\n$1\r\ns\r\n*2\r\n*2\r\n$3\r\n2-0\r\n*0\r\n*2\r\n$3\r\n1-0\r\n*0\r\n"}) {
    RedisParser other;
    other.feed(bytes_in(text));
    const auto reply = other.next();
    ASSERT_TRUE(reply.ok() && *reply != nullptr) << text;
    EXPECT_EQ(read_entries(**reply).status().code(), Code::kCorrupt) << text;
  }
}

TEST(RedisAddress, NamesServerDatabaseAndStreams) {
  const auto address = RedisAddress::parse("redis://u:secret@host/3/clicks-{00..02}");
  ASSERT_TRUE(address.ok()) << address.status().to_string();
  EXPECT_EQ(address->host.to_string(), "host:6379");
  EXPECT_EQ(address->database, 3);
  EXPECT_EQ(address->streams, (std::vector<std::string>{"clicks-00", "clicks-01", "clicks-02"}));
  EXPECT_EQ(address->name, "redis://host:6379/3/clicks-{00..02}");
  for (const std::string text : {"redis://h", "redis://h/", "redis://h/x/s", "redis://h/-1/s", "redis://h/0/s/t",
                                 "redis://a,b/s", "redis://h/{a,a}", "redis://h/0", "redis://h/clicks-{000..}"})
    EXPECT_EQ(RedisAddress::parse(text).status().code(), Code::kInvalidArgument) << text;
  EXPECT_TRUE(RedisAddress::parse("rediss://h/s").ok());
  EXPECT_TRUE(RedisAddress::parse("redis://h/0/0").ok());
  EXPECT_TRUE(RedisAddress::parse("redis://h/{user}:clicks").ok()) << "braces of a cluster";
}

TEST(RedisErrors, WhatPassesByItselfIsWaitedForAndSecretsAreBlottedOut) {
  RedisAddress address;
  address.password = "hunter2";
  EXPECT_EQ(status_of_redis_error("LOADING Redis is loading the dataset in memory", address).code(),
            Code::kUnavailable);
  EXPECT_EQ(status_of_redis_error("MOVED 3999 127.0.0.1:6381", address).code(), Code::kUnsupported);
  const Status refused = status_of_redis_error("ERR unknown command 'AUTH', with args: 'hunter2'", address);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.message().find("hunter2"), std::string::npos);
}

}  // namespace forebay
