#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include "servers/variable.h"

namespace forebay::conformance {

/// The other side of the tests of Redis Streams: a plain hiredis client. Commands fail the test where the server does not say yes.
class RedisWriter {
 public:
  static std::string server() { return variable("FOREBAY_TEST_REDIS"); }
  /// A name that nobody else uses.
  static std::string new_stream() {
    static int made = 0;
    return fmt::format("stream-{}-{}", ::getpid(), made++);
  }

  explicit RedisWriter(std::string of = server()) : server_(std::move(of)) { connect(); }
  ~RedisWriter() { redisFree(context_); }
  RedisWriter(const RedisWriter&) = delete;
  RedisWriter& operator=(const RedisWriter&) = delete;

  void connect() {
    if (context_ != nullptr) redisFree(context_);
    const std::string port = server_.substr(server_.rfind(':') + 1);
    context_ = redisConnect("127.0.0.1", std::stoi(port));
    ASSERT_TRUE(context_ != nullptr && context_->err == 0) << "no connection";
  }
  /// What the server says, as text; errors begin with "-".
  std::string command(const std::vector<std::string>& words) {
    send(words);
    return answer();
  }
  void must(const std::vector<std::string>& words) {
    const std::string said = command(words);
    EXPECT_NE(said.substr(0, 1), "-") << words[0] << ": " << said;
  }
  void append(const std::string& stream, const std::vector<std::string>& payloads) {
    for (const std::string& payload : payloads) send({"XADD", stream, "*", "data", payload});
    for (size_t i = 0; i < payloads.size(); ++i) {
      const std::string said = answer();
      EXPECT_NE(said.substr(0, 1), "-") << said;
    }
  }
  void send(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<size_t> lengths;
    for (const std::string& word : words) texts.push_back(word.data()), lengths.push_back(word.size());
    redisAppendCommandArgv(context_, static_cast<int>(words.size()), texts.data(), lengths.data());
  }
  std::string answer() {
    redisReply* reply = nullptr;
    if (redisGetReply(context_, reinterpret_cast<void**>(&reply)) != REDIS_OK) return "-no answer";
    std::string said = reply->type == REDIS_REPLY_INTEGER ? fmt::format("{}", reply->integer) : "";
    if (reply->str != nullptr) said.assign(reply->str, reply->len);
    if (reply->type == REDIS_REPLY_ERROR) said = "-" + said;
    freeReplyObject(reply);
    return said;
  }

 private:
  const std::string server_;
  redisContext* context_ = nullptr;
};

}  // namespace forebay::conformance
