#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "stream/broker/kafka_address.h"

namespace forebay {

/// What an error of the library means: NotFound for topics and partitions that are not there, InvalidArgument for refusals, else Unavailable.
Status status_of_kafka(rd_kafka_resp_err_t error, const std::string& words, const KafkaAddress& address);

/// librdkafka's client of one topic, without a consumer group. It makes broken connections again by itself. Its end may take long: see ended_aside().
class KafkaClient {
 public:
  using Clock = std::chrono::steady_clock;
  struct Range {
    int64_t first = 0, end = 0;  ///< `end`: behind the last
  };

  static Result<std::shared_ptr<KafkaClient>> make(const KafkaAddress& address, size_t partitions);
  ~KafkaClient();
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;

  rd_kafka_topic_t* topic() const { return topic_; }
  /// How many partitions the topic has. Waits, but not where the servers refuse.
  Result<size_t> count_partitions(std::chrono::milliseconds wait) const;
  /// Which offsets a partition has. Waits.
  Result<Range> range(int32_t partition, std::chrono::milliseconds wait) const;
  /// Begins to fetch. Never waits for a server.
  Status start(int32_t partition, int64_t offset);

  /// Fetches nothing any more, and forgets what was fetched and not taken. May wait.
  void stop();

  /// Takes note of what the library has to say. Never waits.
  void look() const { rd_kafka_poll(client_, 0); }
  /// What is wrong with the connections, as was last said.
  std::string trouble() const;
  /// All is well again.
  void clear_trouble();
  /// Refused by the servers; OK otherwise.
  Status refusal() const;

 private:
  explicit KafkaClient(KafkaAddress address) : address_(std::move(address)) {}
  Status open(size_t partitions);
  Result<size_t> ask_partitions(std::chrono::milliseconds wait) const;
  /// Whether one that the library looked at is good; else it is why the servers are not read. On the library's threads.
  bool take_certificate(int x509_error);
  void hear(rd_kafka_resp_err_t error, const char* words);

  const KafkaAddress address_;
  rd_kafka_t* client_ = nullptr;
  rd_kafka_topic_t* topic_ = nullptr;
  std::vector<int32_t> started_;
  mutable std::mutex mutex_;
  std::string trouble_;
  Status refusal_;
};

}  // namespace forebay
