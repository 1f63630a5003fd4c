#include "stream/broker/broker_logs.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "brokers/kafka/kafka_client.h"
#include "brokers/kafka/mock_cluster_test_support.h"
#include "stream/log_conformance.h"
#include "stream/stream_test_support.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using conformance::LogDriver;
using conformance::LogUnderTest;
using conformance::partitions_of;
using conformance::positions_of;
using conformance::read_count;
using conformance::text_of;

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
// The mock retains 5 MB of a partition.
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

// The mock creates every topic that is requested, which a real cluster does not.
TEST(KafkaErrors, TopicsThatAreNotThereAndRefusalsAreToldFromTransientErrors) {
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

TEST(KafkaLog, ChosenPartitionsAreThoseThatThereAre) {
  MockCluster cluster(4);
  for (size_t i = 0; i < 4; ++i) cluster.append(i, {fmt::format("of {}", i)});
  const auto log = cluster.open({1, 3}).value();
  EXPECT_EQ(log->partitions(), (std::vector<std::string>{"topic/1", "topic/3"}));
  EXPECT_NE(log->identity(), cluster.open().value()->identity());
  for (const LogRecord& record : read_count(*log->read_after(positions_of(*log)).value(), {0, 1}, 2))
    EXPECT_EQ(text_of(*log, record), record.partition == 0 ? "of 1" : "of 3");
  EXPECT_EQ(log->ends({}).value(), (std::vector<std::string>{"0", "0"}));
  const Status status = cluster.open({0, 4}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("partition 4 is chosen, and the topic 'topic' has 4"), std::string::npos)
      << status.to_string();
}

TEST(KafkaLog, PayloadsThatAreHeldOutliveTheirReader) {
  MockCluster cluster(1);
  cluster.append(0, numbers(0, 20));
  const auto log = cluster.open().value();
  const int threads = rd_kafka_thread_cnt();
  std::vector<LogRecord> records;
  {
    const auto reading = log->read_after(positions_of(*log)).value();
    records = read_count(*reading, {0}, 20);
  }
  EXPECT_GT(rd_kafka_thread_cnt(), threads) << "the client of messages that are held";
  for (size_t n = 0; n < records.size(); ++n) EXPECT_EQ(text_of(*log, records[n]), fmt::format("{} ", n));
  records.clear();
  EXPECT_TRUE(becomes([&] { return rd_kafka_thread_cnt() <= threads; })) << "it goes with the last of them";
}

TEST(KafkaLog, AReaderThatIsGoneFetchesNothingThoughSomebodyHoldsItsPayloads) {
  MockCluster cluster(1);
  cluster.append(0, numbers(0, 20));
  const auto log = cluster.open().value();
  auto reading = log->read_after(positions_of(*log)).value();
  const std::vector<LogRecord> held = read_count(*reading, {0}, 20);
  reading.reset();
  cluster.refuse_next_fetch();
  // Time for ten more fetches of the destroyed reader, which would take the refusal.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto next = log->read_after(positions_of(*log)).value();
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    const auto records = next->read({0}, {}, {});
    status = records.status();
    ASSERT_TRUE(!records.ok() || records->empty());
  }
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
}

TEST(KafkaLog, WhatWasForgottenIsCounted) {
  MockCluster cluster(1);
  cluster.append(0, {"first"});
  const auto log = cluster.open().value();
  const auto first = read_count(*log->read_after(positions_of(*log)).value(), {0}, 1);
  // Twice what the mock retains.
  for (int i = 0; i < 20; ++i) cluster.append(0, numbers(i * 100, 100, 5000));
  const auto reading = log->read_after({{0, first.at(0).offset}}).value();
  std::vector<LogRecord> rest;
  for (int i = 0; i < 300 && rest.empty(); ++i) rest = reading->read({0}, {}, {}).value();
  ASSERT_FALSE(rest.empty());
  const auto gaps = reading->take_gaps();
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].until, rest.at(0).offset);
  EXPECT_EQ(gaps[0].records, std::stoll(rest[0].offset) - 1);
  const auto from_first = log->read_after({{0, "", true}}).value();
  std::vector<LogRecord> again;
  for (int i = 0; i < 300 && again.empty(); ++i) again = from_first->read({0}, {}, {}).value();
  const auto gaps_from_first = from_first->take_gaps();
  ASSERT_EQ(gaps_from_first.size(), 1u) << "of what was read before";
  EXPECT_EQ(gaps_from_first[0].until, rest.at(0).offset);
  EXPECT_EQ(gaps_from_first[0].records, std::stoll(rest[0].offset));
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
  for (int i = 0; i < 100 && reading->trouble().empty(); ++i) {
    const auto none = reading->read({0}, {}, {});
    ASSERT_TRUE(none.ok()) << none.status().to_string();
    EXPECT_TRUE(none->empty());
  }
  EXPECT_NE(reading->trouble(), "");
  cluster.set_up(true);
  cluster.append(0, numbers(100, 100));
  for (LogRecord& record : read_count(*reading, {0}, 100)) records.push_back(std::move(record));
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(text_of(*log, records[i]), fmt::format("{} ", i));
  for (int i = 0; i < 100 && !reading->trouble().empty(); ++i) (void)reading->read({0}, {}, {});
  EXPECT_EQ(reading->trouble(), "");
  EXPECT_GE(reading->reconnects(), 1);
}

TEST(KafkaLog, WhoOpensItWaitsForAClusterThatIsAwayAndIsToldOnce) {
  MockCluster cluster(3);
  cluster.set_up(false);
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lines;
  set_log_sink([&](const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
    changed.notify_all();
  });
  const KafkaAddress address = KafkaAddress::parse("kafka://" + cluster.broker() + "/topic").value();
  std::stop_source stop;
  const auto open = [&](std::stop_token until) {
    return open_kafka_log(address, RecordFormat::parse("bytes", "").value(), std::move(until),
                          std::chrono::milliseconds(100));
  };
  auto opened = std::async(std::launch::async, [&] { return open({}); });
  auto stopped = std::async(std::launch::async, [&] { return open(stop.get_token()); });
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return lines.size() == 2; }));
  }
  stop.request_stop();
  EXPECT_EQ(stopped.get().status().code(), Code::kCancelled);
  cluster.set_up(true);
  const auto log = opened.get();
  ASSERT_TRUE(log.ok()) << log.status().to_string();
  EXPECT_EQ((*log)->partitions().size(), 3u);
  set_log_sink(nullptr);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find(address.name + ": still waiting for the cluster"), std::string::npos) << lines[0];
}

}  // namespace forebay
