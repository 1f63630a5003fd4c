#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "forebay/result.h"
#include "stream/broker/kafka_address.h"

namespace forebay {

/// Converts an error of the library: NotFound for topics and partitions that do not exist,
/// InvalidArgument for refusals, Corrupt for messages that cannot be unpacked, otherwise
/// Unavailable.
Status status_of_kafka(rd_kafka_resp_err_t error, const std::string& words, const KafkaAddress& address);

/// librdkafka's client for one topic, without a consumer group. It reconnects by itself. Its
/// destruction may take long, so with_detached_destruction() destroys it.
class KafkaClient {
 public:
  using Clock = std::chrono::steady_clock;
  struct Range {
    int64_t first = 0, end = 0;  ///< `end` is one past the last
  };

  static Result<std::shared_ptr<KafkaClient>> make(const KafkaAddress& address, size_t partitions);
  ~KafkaClient();
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;

  rd_kafka_topic_t* topic() const { return topic_; }
  /// Returns the number of partitions of the topic. Waits, but ends early if the servers refuse.
  Result<size_t> count_partitions(std::chrono::milliseconds wait) const;
  /// Returns the offsets that a partition has. Waits.
  Result<Range> range(int32_t partition, std::chrono::milliseconds wait) const;
  /// Starts fetching. Never waits for a server.
  Status start(int32_t partition, int64_t offset);

  /// Stops fetching and discards fetched messages that were not consumed. May wait.
  void stop();

  /// Serves the library's callbacks. Never waits.
  void poll() const { rd_kafka_poll(client_, 0); }
  /// Returns the latest problem of the connections; empty if there is none.
  std::string trouble() const;
  /// Clears the problem, once the servers answer again.
  void clear_trouble();
  /// Returns the servers' refusal; OK if there is none.
  Status refusal() const;

 private:
  explicit KafkaClient(KafkaAddress address) : address_(std::move(address)) {}
  Status open(size_t partitions);
  Result<size_t> ask_partitions(std::chrono::milliseconds wait) const;
  /// Returns whether the certificate passed the library's verification; otherwise records the
  /// refusal. Called on the library's threads.
  bool check_certificate(int x509_error);
  void note_error(rd_kafka_resp_err_t error, const char* words);

  const KafkaAddress address_;
  rd_kafka_t* client_ = nullptr;
  rd_kafka_topic_t* topic_ = nullptr;
  std::vector<int32_t> started_;
  mutable Mutex mutex_;
  std::string trouble_ FOREBAY_GUARDED_BY(mutex_);
  Status refusal_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
