#include <gtest/gtest.h>

#include "stream/broker/kafka_address.h"
#include "stream/broker/nats_address.h"
#include "stream/broker/redis_address.h"

namespace forebay {
namespace {

using Options = std::map<std::string, std::string>;

template <typename Address>
Address parsed(const std::string& url, const Options& options = {}) {
  auto address = Address::parse(url, options);
  EXPECT_TRUE(address.ok()) << address.status().to_string();
  return address.ok() ? *std::move(address) : Address();
}

template <typename Address>
void expect_refused(const std::string& url, const std::string& words, const Options& options = {}) {
  const Status status = Address::parse(url, options).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << url;
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find("hunter2"), std::string::npos) << status.message();
}

TEST(RedisAddress, names_a_server_a_database_and_streams) {
  const auto plain = parsed<RedisAddress>("redis://host/clicks");
  EXPECT_EQ(plain.host.to_string(), "host:6379");
  EXPECT_EQ(plain.database, 0);
  EXPECT_EQ(plain.streams, std::vector<std::string>{"clicks"});
  EXPECT_FALSE(plain.tls);
  EXPECT_EQ(plain.name, "redis://host:6379/0/clicks");
  const auto several = parsed<RedisAddress>("rediss://me:hunter2@host:7000/3/s-{00..02}");
  EXPECT_EQ(several.database, 3);
  EXPECT_EQ(several.streams, (std::vector<std::string>{"s-00", "s-01", "s-02"}));
  EXPECT_EQ(several.user, "me");
  EXPECT_EQ(several.password, "hunter2");
  EXPECT_TRUE(several.tls);
  EXPECT_EQ(several.name, "rediss://host:7000/3/s-{00..02}") << "without the password";
  EXPECT_EQ(parsed<RedisAddress>("redis://host/{user}:events").streams.size(), 1u) << "braces of a cluster";
}

TEST(RedisAddress, says_what_is_wrong_with_a_url) {
  expect_refused<RedisAddress>("redis://a,b/s", "names one server");
  expect_refused<RedisAddress>("redis://host", "redis://[user:password@]host[:port][/db]/STREAM");
  expect_refused<RedisAddress>("redis://host/0/s/t", "redis://[user:password@]host[:port][/db]/STREAM");
  expect_refused<RedisAddress>("redis://host/3", "write /3/STREAM, or /0/3 for a stream of that name");
  expect_refused<RedisAddress>("redis://host/x/s", "'x' is no number of a database");
  expect_refused<RedisAddress>("redis://host/s-{x..1}", "are no range");
  expect_refused<RedisAddress>("redis://host/s{a,a}", "names a stream twice");
  expect_refused<RedisAddress>("redis://host/s{00001..20000}", "10000 is the most");
  expect_refused<RedisAddress>("redis://:hunter2@host/s", "write rediss://", {{"server_name", "other"}});
}

TEST(NatsAddress, names_servers_a_stream_and_a_subject) {
  const auto plain = parsed<NatsAddress>("nats://a,b:1/ORDERS");
  ASSERT_EQ(plain.servers.size(), 2u);
  EXPECT_EQ(plain.servers[0].to_string(), "a:4222");
  EXPECT_EQ(plain.servers[1].to_string(), "b:1");
  EXPECT_EQ(plain.stream, "ORDERS");
  EXPECT_EQ(plain.subject, "");
  EXPECT_FALSE(plain.secure);
  const auto subject = parsed<NatsAddress>("tls://tok@a/ORDERS/orders.*.new");
  EXPECT_EQ(subject.subject, "orders.*.new");
  EXPECT_TRUE(subject.secure);
  EXPECT_EQ(subject.user, "tok");
  EXPECT_EQ(subject.password, "") << "a user without a password is a token";
  EXPECT_EQ(subject.name, "tls://a:4222/ORDERS/orders.*.new");
  EXPECT_TRUE(parsed<NatsAddress>("nats://a/S", {{"server_name", "b"}}).secure) << "an option of TLS wants TLS";
  EXPECT_EQ(parsed<NatsAddress>("nats://a/S", {{"token", "t"}}).user, "t");
}

TEST(NatsAddress, says_what_is_wrong_with_a_url_or_an_option) {
  expect_refused<NatsAddress>("nats://a", "nats://[user:password@]host[:port]/STREAM[/SUBJECT]");
  expect_refused<NatsAddress>("nats://a/S/x/y", "nats://[user:password@]host[:port]/STREAM[/SUBJECT]");
  expect_refused<NatsAddress>("nats://a/S.T", "nats://[user:password@]host[:port]/STREAM[/SUBJECT]");
  expect_refused<NatsAddress>("nats://a/S/x%20y", "'x y' is no subject of NATS");
  expect_refused<NatsAddress>("nats://me:hunter2@a/S", "give one of them", {{"token", "hunter2"}});
  expect_refused<NatsAddress>("nats://a/S", "give both or none", {{"nkey", "U1"}});
  expect_refused<NatsAddress>("nats://a/S", "credentials_file: '/none' cannot be read",
                              {{"credentials_file", "/none"}});
  expect_refused<NatsAddress>("nats://a/S", "no storage option 'tokn'", {{"tokn", "hunter2"}});
}

TEST(KafkaAddress, names_brokers_and_a_topic) {
  const auto plain = parsed<KafkaAddress>("kafka://a,b:1/topic");
  EXPECT_EQ(plain.brokers, "a:9092,b:1");
  EXPECT_EQ(plain.server_names, "a,b");
  EXPECT_EQ(plain.topic, "topic");
  EXPECT_EQ(plain.name, "kafka://a:9092,b:1/topic");
  EXPECT_EQ(plain.security.at("security.protocol"), "PLAINTEXT");
  EXPECT_TRUE(plain.partitions.empty());
}

TEST(KafkaAddress, the_options_decide_the_protocol) {
  const auto protocol = [](const std::string& url, const Options& options) {
    return parsed<KafkaAddress>(url, options).security.at("security.protocol");
  };
  EXPECT_EQ(protocol("kafka://me:hunter2@a/t", {}), "SASL_PLAINTEXT");
  EXPECT_EQ(protocol("kafka://a/t", {{"sasl_mechanism", "GSSAPI"}}), "SASL_PLAINTEXT");
  EXPECT_EQ(protocol("kafka://a/t", {{"security_protocol", "ssl"}}), "ssl");
  const auto security = parsed<KafkaAddress>("kafka://me:hunter2@a/t", {{"sasl_mechanism", "SCRAM-SHA-256"}}).security;
  EXPECT_EQ(security.at("sasl.mechanism"), "SCRAM-SHA-256");
  EXPECT_EQ(security.at("sasl.username"), "me");
  EXPECT_EQ(security.at("sasl.password"), "hunter2");
  EXPECT_EQ(parsed<KafkaAddress>("kafka://me:hunter2@a/t").security.at("sasl.mechanism"), "PLAIN");
}

TEST(KafkaAddress, a_password_that_the_protocol_would_not_use_is_refused) {
  expect_refused<KafkaAddress>("kafka://me:hunter2@a/t", "asks nobody who they are", {{"security_protocol", "SSL"}});
  expect_refused<KafkaAddress>("kafka://a/t", "asks nobody who they are",
                               {{"security_protocol", "PLAINTEXT"}, {"sasl_mechanism", "PLAIN"}});
}

TEST(KafkaAddress, a_topic_has_the_characters_that_kafka_allows) {
  for (const std::string& topic : std::vector<std::string>{"", "a/b", "..", "a%20b", std::string(250, 'x')})
    expect_refused<KafkaAddress>("kafka://a/" + topic, "kafka://[user:password@]host[:port]");
  EXPECT_EQ(parsed<KafkaAddress>("kafka://a/a.b_c-9").topic, "a.b_c-9");
}

}  // namespace
}  // namespace forebay
