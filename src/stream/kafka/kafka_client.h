#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Which topic of which cluster: "kafka://[user:password@]host[:port][,host[:port]]/TOPIC".
struct KafkaAddress {
  std::string brokers;                          ///< "host:port,host:port"
  std::map<std::string, std::string> security;  ///< settings of librdkafka's: TLS, SASL, who asks
  std::string password;                         ///< among them; in no message
  std::string server_names;                     ///< the brokers' hosts, for messages
  bool with_certificate = false;
  std::string topic;
  std::vector<size_t>
      partitions;       ///< numbers of those that are read, increasing; empty: all, until it is known which these are
  bool chosen = false;  ///< whether somebody chose them
  /// "kafka://host:port/TOPIC", without who asks.
  std::string name;

  /// `options`: as broker_options.h has them, and security_protocol, sasl_mechanism. What is given decides the protocol where that is not: TLS with one of
  /// TLS' options, SASL (PLAIN, if nothing is said) with a password.
  static Result<KafkaAddress> parse(std::string_view url, const std::map<std::string, std::string>& options = {});
};

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
