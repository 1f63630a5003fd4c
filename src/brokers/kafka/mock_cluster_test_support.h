#pragma once

#include <gtest/gtest.h>

// clang-format off: the second needs the first
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
// clang-format on

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "stream/broker/broker_logs.h"

namespace forebay {

/// The library's mock cluster, in this process, with one topic and a producer.
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

  Result<std::shared_ptr<const RecordLog>> open(std::vector<size_t> partitions = {}) const {
    KafkaAddress address = KafkaAddress::parse("kafka://" + broker() + "/topic").value();
    address.partitions = std::move(partitions);
    return open_kafka_log(std::move(address), RecordFormat::parse("bytes", "").value(), {});
  }
  /// "host:port"
  std::string broker() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
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
  /// Refuses the next fetch request.
  void refuse_next_fetch() {
    constexpr int16_t kFetch = 1;  // number of the request type in the protocol
    rd_kafka_mock_push_request_errors(cluster_, kFetch, 1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  }
  void set_up(bool up) { (up ? rd_kafka_mock_broker_set_up : rd_kafka_mock_broker_set_down)(cluster_, 1); }

 private:
  rd_kafka_t* producer_;
  rd_kafka_mock_cluster_t* cluster_;
};

}  // namespace forebay
