#include "stream/kafka/kafka_client.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "stream/aside.h"
#include "stream/broker_url.h"

namespace forebay {

namespace {

constexpr size_t kAheadKilobytes = 64 << 10;  ///< of all partitions, before they are asked for

struct DestroyConfiguration {
  void operator()(rd_kafka_conf_t* configuration) const { rd_kafka_conf_destroy(configuration); }
};
using KafkaConfiguration = std::unique_ptr<rd_kafka_conf_t, DestroyConfiguration>;

Status set_kafka(rd_kafka_conf_t* configuration, const char* name, const std::string& value) {
  std::array<char, 512> why{};
  if (rd_kafka_conf_set(configuration, name, value.c_str(), why.data(), why.size()) == RD_KAFKA_CONF_OK) return {};
  return invalid_argument(fmt::format("librdkafka does not take '{}'", name));  // its words have the value
}

bool is_topic_name(std::string_view text) {
  return !text.empty() && text.size() <= 249 && text != "." && text != ".." &&
         std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

Result<KafkaAddress> KafkaAddress::parse(std::string_view text) {
  FOREBAY_ASSIGN(const BrokerUrl url, parse_broker_url(text, 9092));
  if (url.path.size() != 1 || !is_topic_name(url.path[0]))
    return invalid_argument("a kafka:// URL is kafka://[user:password@]host[:port][,host[:port]]/TOPIC");
  KafkaAddress address;
  for (const HostPort& host : url.hosts) address.brokers += (address.brokers.empty() ? "" : ",") + host.to_string();
  address.user = url.user;
  address.password = url.password;
  address.topic = url.path[0];
  address.name = url.without_credentials();
  return address;
}

Status status_of_kafka(rd_kafka_resp_err_t error, const std::string& words, const KafkaAddress& address) {
  const std::string text = without_secret(words.empty() ? rd_kafka_err2str(error) : words, address.password);
  switch (error) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return not_found(fmt::format("the topic '{}' or a partition of it is not there: {}", address.topic, text));
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED: return invalid_argument(text);
    default: return unavailable(text);
  }
}

Result<std::shared_ptr<KafkaClient>> KafkaClient::make(const KafkaAddress& address, size_t partitions) {
  std::unique_ptr<KafkaClient> made(new KafkaClient(address));
  FOREBAY_RETURN_IF_ERROR(made->open(partitions));
  return ended_aside(std::move(made));
}

Status KafkaClient::open(size_t partitions) {
  KafkaConfiguration configuration(rd_kafka_conf_new());
  rd_kafka_conf_t* const set = configuration.get();
  const std::string ahead =
      fmt::format("{}", std::max<size_t>(kAheadKilobytes / std::max<size_t>(partitions, 1), 1024));
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"bootstrap.servers", address_.brokers},
                                    {"client.id", "forebay"},
                                    {"allow.auto.create.topics", "false"},
                                    {"auto.offset.reset", "error"},
                                    {"queued.max.messages.kbytes", ahead},
                                    {"fetch.wait.max.ms", "100"},
                                    {"fetch.error.backoff.ms", "100"},
                                    {"reconnect.backoff.ms", "20"},
                                    {"reconnect.backoff.max.ms", "2000"},
                                    {"socket.keepalive.enable", "true"}})
    FOREBAY_RETURN_IF_ERROR(set_kafka(set, name, value));
  if (!address_.password.empty()) {
    for (const auto& [name, value] : {std::pair<const char*, std::string>{"security.protocol", "SASL_PLAINTEXT"},
                                      {"sasl.mechanism", "PLAIN"},
                                      {"sasl.username", address_.user},
                                      {"sasl.password", address_.password}})
      FOREBAY_RETURN_IF_ERROR(set_kafka(set, name, value));
  }
  rd_kafka_conf_set_opaque(set, this);
  rd_kafka_conf_set_log_cb(set, [](const rd_kafka_t*, int, const char*, const char*) {});
  rd_kafka_conf_set_error_cb(set, [](rd_kafka_t*, int error, const char* words, void* self) {
    static_cast<KafkaClient*>(self)->hear(static_cast<rd_kafka_resp_err_t>(error), words);
  });
  std::array<char, 512> why{};
  client_ = rd_kafka_new(RD_KAFKA_CONSUMER, set, why.data(), why.size());
  if (client_ == nullptr) return unavailable(without_secret(why.data(), address_.password));
  (void)configuration.release();  // the client has it now
  topic_ = rd_kafka_topic_new(client_, address_.topic.c_str(), nullptr);
  return topic_ != nullptr ? Status() : unavailable(rd_kafka_err2str(rd_kafka_last_error()));
}

KafkaClient::~KafkaClient() {
  for (const int32_t partition : started_) rd_kafka_consume_stop(topic_, partition);
  if (topic_ != nullptr) rd_kafka_topic_destroy(topic_);
  if (client_ != nullptr) rd_kafka_destroy(client_);
}

Result<size_t> KafkaClient::count_partitions(std::chrono::milliseconds wait) const {
  const struct rd_kafka_metadata* metadata = nullptr;
  const rd_kafka_resp_err_t error = rd_kafka_metadata(client_, 0, topic_, &metadata, static_cast<int>(wait.count()));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    const std::string heard = trouble();
    return status_of_kafka(error, heard, address_);
  }
  const bool one = metadata->topic_cnt == 1;
  const rd_kafka_resp_err_t of_topic = one ? metadata->topics[0].err : RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
  const int count = one ? metadata->topics[0].partition_cnt : 0;
  rd_kafka_metadata_destroy(metadata);
  if (of_topic != RD_KAFKA_RESP_ERR_NO_ERROR) return status_of_kafka(of_topic, "", address_);
  return static_cast<size_t>(count);
}

Result<KafkaClient::Range> KafkaClient::range(size_t partition, std::chrono::milliseconds wait) const {
  Range range;
  const rd_kafka_resp_err_t error =
      rd_kafka_query_watermark_offsets(client_, address_.topic.c_str(), static_cast<int32_t>(partition), &range.first,
                                       &range.end, static_cast<int>(wait.count()));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return status_of_kafka(error, "", address_);
  return range;
}

Status KafkaClient::start(size_t partition, int64_t offset) {
  const auto number = static_cast<int32_t>(partition);
  if (std::ranges::find(started_, number) != started_.end()) {
    rd_kafka_consume_stop(topic_, number);
  } else {
    started_.push_back(number);
  }
  if (rd_kafka_consume_start(topic_, number, offset) == 0) return {};
  return status_of_kafka(rd_kafka_last_error(), "", address_);
}

std::string KafkaClient::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void KafkaClient::clear_trouble() {
  const std::lock_guard lock(mutex_);
  trouble_.clear();
}

Status KafkaClient::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

void KafkaClient::hear(rd_kafka_resp_err_t error, const char* words) {
  Status status = status_of_kafka(error, words == nullptr ? "" : words, address_);
  const std::lock_guard lock(mutex_);
  trouble_ = status.message();
  if (status.code() == Code::kInvalidArgument) refusal_ = std::move(status);
}

}  // namespace forebay
