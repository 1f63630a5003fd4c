#include "stream/kafka/kafka_log.h"

#include <gtest/gtest.h>

#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <thread>

#include <fmt/format.h>

#include "stream/log_conformance.h"

namespace forebay {

namespace {

using conformance::LogDriver;
using conformance::LogUnderTest;
using conformance::partitions_of;
using conformance::positions_of;
using conformance::read_count;
using conformance::text_of;

/// A cluster of the library's own, in this process, with one topic; and a producer.
class MockCluster {
 public:
  explicit MockCluster(int partitions) {
    rd_kafka_conf_t* const configuration = rd_kafka_conf_new();
    std::array<char, 512> why{};
    rd_kafka_conf_set(configuration, "test.mock.num.brokers", "1", why.data(), why.size());
    rd_kafka_conf_set(configuration, "linger.ms", "0", why.data(), why.size());
    rd_kafka_conf_set_log_cb(configuration, [](const rd_kafka_t*, int, const char*, const char*) {});
    producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, why.data(), why.size());
    cluster_ = rd_kafka_handle_mock_cluster(producer_);
    rd_kafka_mock_topic_create(cluster_, "topic", partitions, 1);
  }
  ~MockCluster() { rd_kafka_destroy(producer_); }
  MockCluster(const MockCluster&) = delete;
  MockCluster& operator=(const MockCluster&) = delete;

  Result<std::shared_ptr<const RecordLog>> open() const {
    const std::string url = fmt::format("kafka://{}/topic", rd_kafka_mock_cluster_bootstraps(cluster_));
    return open_kafka_log(KafkaAddress::parse(url).value(), RecordFormat::of("bytes", "").value(), {});
  }
  void append(size_t partition, const std::vector<std::string>& payloads, const std::string& key = "") {
    for (const std::string& payload : payloads) {
      const rd_kafka_resp_err_t error = rd_kafka_producev(
          producer_, RD_KAFKA_V_TOPIC("topic"), RD_KAFKA_V_PARTITION(static_cast<int32_t>(partition)),
          RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()), RD_KAFKA_V_KEY(key.data(), key.size()),
          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
      ASSERT_EQ(error, RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    ASSERT_EQ(rd_kafka_flush(producer_, 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  void set_up(bool up) { (up ? rd_kafka_mock_broker_set_up : rd_kafka_mock_broker_set_down)(cluster_, 1); }

 private:
  rd_kafka_t* producer_;
  rd_kafka_mock_cluster_t* cluster_;
};

class KafkaUnderTest final : public LogUnderTest {
 public:
  explicit KafkaUnderTest(size_t partitions) : cluster_(static_cast<int>(partitions)) {}
  std::shared_ptr<const RecordLog> log() override { return cluster_.open().value(); }
  void append(size_t partition, const std::vector<std::string>& payloads) override {
    cluster_.append(partition, payloads);
  }

 private:
  MockCluster cluster_;
};

std::vector<std::string> numbers(int from, int count, size_t length = 0) {
  std::vector<std::string> texts;
  for (int i = from; i < from + count; ++i) texts.push_back(fmt::format("{} {}", i, std::string(length, 'x')));
  return texts;
}

}  // namespace

namespace conformance {
// The mock keeps 5 MB of a partition.
INSTANTIATE_TEST_SUITE_P(Kafka, LogConformance,
                         testing::Values(LogDriver{
                             "Kafka", [](size_t partitions) { return std::make_unique<KafkaUnderTest>(partitions); }, 4,
                             2'000}));
}  // namespace conformance

TEST(KafkaAddress, NamesBrokersAndTopic) {
  const auto address = KafkaAddress::parse("kafka://u:secret@a,b:1/clicks");
  ASSERT_TRUE(address.ok()) << address.status().to_string();
  EXPECT_EQ(address->brokers, "a:9092,b:1");
  EXPECT_EQ(address->name, "kafka://a:9092,b:1/clicks");
  for (const std::string text : {"kafka://a", "kafka://a/", "kafka://a/b/c", "kafka://a/b%20c", "kafka://a/.."})
    EXPECT_EQ(KafkaAddress::parse(text).status().code(), Code::kInvalidArgument) << text;
}

// The mock makes every topic that it is asked for, which a cluster does not.
TEST(KafkaErrors, TopicsThatAreNotThereAndRefusalsAreToldFromTheWeather) {
  KafkaAddress address;
  address.topic = "clicks";
  address.password = "hunter2";
  EXPECT_EQ(status_of_kafka(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "", address).code(), Code::kNotFound);
  EXPECT_EQ(status_of_kafka(RD_KAFKA_RESP_ERR__TRANSPORT, "", address).code(), Code::kUnavailable);
  const Status refused = status_of_kafka(RD_KAFKA_RESP_ERR__AUTHENTICATION, "no hunter2", address);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_EQ(refused.message().find("hunter2"), std::string::npos);
}

TEST(KafkaLog, KeysAreThoseOfMessagesOrWhereTheyStand) {
  MockCluster cluster(2);
  cluster.append(0, {"a"}, "the key");
  cluster.append(1, {"b"});
  const auto log = cluster.open().value();
  EXPECT_EQ(log->partitions(), (std::vector<std::string>{"topic/0", "topic/1"}));
  std::vector<std::string> keys(2);
  for (const LogRecord& record : read_count(*log->read_after(positions_of(*log)).value(), {0, 1}, 2))
    keys.at(record.partition) = record.key;
  EXPECT_EQ(keys, (std::vector<std::string>{"the key", "1:0"}));
}

TEST(KafkaLog, WhatWasForgottenIsCounted) {
  MockCluster cluster(1);
  cluster.append(0, {"first"});
  const auto log = cluster.open().value();
  const auto first = read_count(*log->read_after(positions_of(*log)).value(), {0}, 1);
  for (int i = 0; i < 20; ++i) cluster.append(0, numbers(i * 100, 100, 5000));  // twice what the mock keeps
  const auto reading = log->read_after({{0, first.at(0).offset}}).value();
  std::vector<LogRecord> rest;
  for (int i = 0; i < 300 && rest.empty(); ++i) rest = reading->read({0}, {}, {}).value();
  ASSERT_FALSE(rest.empty());
  const auto gaps = reading->take_gaps();
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].until, rest.at(0).offset);
  EXPECT_EQ(gaps[0].records, std::stoll(rest[0].offset) - 1);
  const auto behind_end = log->read_after({{0, "100000"}}).value();
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = behind_end->read({0}, {}, {}).status();
  EXPECT_EQ(status.code(), Code::kNotFound) << status.to_string();
}

TEST(KafkaLog, ABrokerThatIsAwayForAWhileIsReadToItsEnd) {
  MockCluster cluster(1);
  cluster.append(0, numbers(0, 100));
  const auto log = cluster.open().value();
  const auto reading = log->read_after(positions_of(*log)).value();
  std::vector<LogRecord> records = read_count(*reading, {0}, 100);
  cluster.set_up(false);
  for (int i = 0; i < 100 && reading->troubled().empty(); ++i) {
    const auto none = reading->read({0}, {}, {});
    ASSERT_TRUE(none.ok()) << none.status().to_string();
    EXPECT_TRUE(none->empty());
  }
  EXPECT_NE(reading->troubled(), "");
  cluster.set_up(true);
  cluster.append(0, numbers(100, 100));
  for (LogRecord& record : read_count(*reading, {0}, 100)) records.push_back(std::move(record));
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(text_of(*log, records[i]), fmt::format("{} ", i));
  for (int i = 0; i < 100 && !reading->troubled().empty(); ++i) (void)reading->read({0}, {}, {});
  EXPECT_EQ(reading->troubled(), "");
  EXPECT_GE(reading->reconnects(), 1);
}

}  // namespace forebay
