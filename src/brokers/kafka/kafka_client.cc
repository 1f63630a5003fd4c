#include "brokers/kafka/kafka_client.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <openssl/x509_vfy.h>

#include "brokers/tls_refusal.h"
#include "stream/broker_url.h"
#include "stream/detached_call.h"

namespace forebay {

namespace {

constexpr size_t kAheadKilobytes = 64 << 10;  ///< limit of messages fetched ahead, in all

struct DestroyConfiguration {
  void operator()(rd_kafka_conf_t* configuration) const { rd_kafka_conf_destroy(configuration); }
};
using KafkaConfiguration = std::unique_ptr<rd_kafka_conf_t, DestroyConfiguration>;

Status set_kafka(rd_kafka_conf_t* configuration, const char* name, const std::string& value) {
  std::array<char, 512> why{};
  if (rd_kafka_conf_set(configuration, name, value.c_str(), why.data(), why.size()) == RD_KAFKA_CONF_OK) return {};
  // The library's message contains the value.
  const bool secret = std::string_view(name) == "sasl.password" || std::string_view(name) == "sasl.username";
  return invalid_argument(fmt::format("librdkafka: {}", secret ? fmt::format("no value for {}", name) : why.data()));
}

/// Returns the refusal of TLS in the library's message, which a retry cannot change; nothing for
/// other messages.
std::optional<std::string> tls_refusal_of_kafka(std::string_view words, const KafkaAddress& address) {
  if (const auto alert = alert_in(words)) return alert_refusal(*alert, address.with_certificate);
  if (words.find("wrong version number") == std::string_view::npos) return std::nullopt;
  return "the server speaks no TLS at this port; give the port at which it does, or security_protocol";
}

}  // namespace

Status status_of_kafka(rd_kafka_resp_err_t error, const std::string& words, const KafkaAddress& address) {
  const std::string text = without_secret(words.empty() ? rd_kafka_err2str(error) : words, address.password);
  if (auto refusal = tls_refusal_of_kafka(text, address)) return invalid_argument(*std::move(refusal));
  switch (error) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return not_found(fmt::format("the topic '{}' or a partition of it is not there: {}", address.topic, text));
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      return invalid_argument(text +
                              " (user and password are those of the URL or of storage_options; see sasl_mechanism)");
    // A retry would fetch the same batch again and again.
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR__BAD_MSG:
      return corrupt(
          fmt::format("messages of the topic '{}' cannot be unpacked ({}): they are damaged, or of a codec "
                      "that this librdkafka was built without",
                      address.topic, text));
    default: return unavailable(text);
  }
}

Result<std::shared_ptr<KafkaClient>> KafkaClient::make(const KafkaAddress& address, size_t partitions) {
  std::unique_ptr<KafkaClient> made(new KafkaClient(address));
  FOREBAY_RETURN_IF_ERROR(made->open(partitions));
  return with_detached_destruction(std::move(made));
}

Status KafkaClient::open(size_t partitions) {
  KafkaConfiguration configuration(rd_kafka_conf_new());
  rd_kafka_conf_t* const set = configuration.get();
  const std::string ahead =
      // A simple consumer applies the setting to each partition, so the total is divided, with a
      // minimum for each.
      fmt::format("{}", std::max<size_t>(kAheadKilobytes / std::max<size_t>(partitions, 1), 1024));
  for (const auto& [name, value] : {std::pair<const char*, std::string>{"bootstrap.servers", address_.brokers},
                                    {"client.id", "forebay"},
                                    {"allow.auto.create.topics", "false"},
                                    // A missing offset is then reported, and not replaced silently.
                                    {"auto.offset.reset", "error"},
                                    {"queued.max.messages.kbytes", ahead},
                                    {"fetch.wait.max.ms", "100"},
                                    {"fetch.error.backoff.ms", "100"},
                                    {"reconnect.backoff.ms", "20"},
                                    {"reconnect.backoff.max.ms", "2000"},
                                    {"socket.keepalive.enable", "true"}})
    FOREBAY_RETURN_IF_ERROR(set_kafka(set, name, value));
  for (const auto& [name, value] : address_.security) FOREBAY_RETURN_IF_ERROR(set_kafka(set, name.c_str(), value));
  if (address_.security.at("security.protocol").find("SSL") != std::string::npos) {
    // Not the default before librdkafka 2, which would accept another host's certificate.
    FOREBAY_RETURN_IF_ERROR(set_kafka(set, "ssl.endpoint.identification.algorithm", "https"));
    rd_kafka_conf_set_ssl_cert_verify_cb(
        set, [](rd_kafka_t*, const char*, int32_t, int* error, int, const char*, size_t, char*, size_t, void* self) {
          return int{static_cast<KafkaClient*>(self)->check_certificate(*error)};
        });
  }
  // Callbacks may come until rd_kafka_destroy(), which the destructor calls.
  rd_kafka_conf_set_opaque(set, this);
  // The library's default callback writes to standard error.
  rd_kafka_conf_set_log_cb(set, [](const rd_kafka_t*, int, const char*, const char*) {});
  rd_kafka_conf_set_error_cb(set, [](rd_kafka_t*, int error, const char* words, void* self) {
    static_cast<KafkaClient*>(self)->note_error(static_cast<rd_kafka_resp_err_t>(error), words);
  });
  std::array<char, 512> why{};
  client_ = rd_kafka_new(RD_KAFKA_CONSUMER, set, why.data(), why.size());
  if (client_ == nullptr)
    return invalid_argument(fmt::format("librdkafka: {}", without_secret(why.data(), address_.password)));
  (void)configuration.release();  // the client owns it now
  topic_ = rd_kafka_topic_new(client_, address_.topic.c_str(), nullptr);
  return topic_ != nullptr ? Status() : unavailable(rd_kafka_err2str(rd_kafka_last_error()));
}

KafkaClient::~KafkaClient() {
  stop();
  if (topic_ != nullptr) rd_kafka_topic_destroy(topic_);
  if (client_ != nullptr) rd_kafka_destroy(client_);
}

// Recorded here, because the library writes this reason only to its log.
bool KafkaClient::check_certificate(int x509_error) {
  if (x509_error == X509_V_OK) return true;
  const Lock lock(mutex_);
  refusal_ = invalid_argument(certificate_refusal(x509_error, address_.server_names));
  return false;
}

// The library's call does not end at a refusal. It is repeated with growing time limits, so that
// refusals are noticed and slow servers can answer one of them.
Result<size_t> KafkaClient::count_partitions(std::chrono::milliseconds wait) const {
  const auto end = Clock::now() + wait;
  for (std::chrono::milliseconds some{250};; some *= 2) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    // Never 0 ms, which would not wait for an answer.
    auto count = ask_partitions(std::max(std::min(some, left), std::chrono::milliseconds(1)));
    poll();
    FOREBAY_RETURN_IF_ERROR(refusal());
    if (count.ok() || count.status().code() != Code::kUnavailable || some >= left) return count;
  }
}

Result<size_t> KafkaClient::ask_partitions(std::chrono::milliseconds wait) const {
  const struct rd_kafka_metadata* metadata = nullptr;
  const rd_kafka_resp_err_t error = rd_kafka_metadata(client_, 0, topic_, &metadata, static_cast<int>(wait.count()));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    // The call reports only a timeout; the error callback has heard the reason.
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

Result<KafkaClient::Range> KafkaClient::range(int32_t partition, std::chrono::milliseconds wait) const {
  Range range;
  const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
      client_, address_.topic.c_str(), partition, &range.first, &range.end, static_cast<int>(wait.count()));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return status_of_kafka(error, "", address_);
  return range;
}

Status KafkaClient::start(int32_t partition, int64_t offset) {
  // A partition must be stopped before it is started at another offset.
  if (std::ranges::find(started_, partition) != started_.end()) {
    rd_kafka_consume_stop(topic_, partition);
  } else {
    started_.push_back(partition);
  }
  if (rd_kafka_consume_start(topic_, partition, offset) == 0) return {};
  return status_of_kafka(rd_kafka_last_error(), "", address_);
}

void KafkaClient::stop() {
  for (const int32_t partition : std::exchange(started_, {})) rd_kafka_consume_stop(topic_, partition);
}

std::string KafkaClient::trouble() const {
  const Lock lock(mutex_);
  return trouble_;
}

void KafkaClient::clear_trouble() {
  const Lock lock(mutex_);
  trouble_.clear();
}

Status KafkaClient::refusal() const {
  const Lock lock(mutex_);
  return refusal_;
}

void KafkaClient::note_error(rd_kafka_resp_err_t error, const char* words) {
  Status status = status_of_kafka(error, words == nullptr ? "" : words, address_);
  const Lock lock(mutex_);
  trouble_ = status.message();
  if (status.code() == Code::kInvalidArgument) refusal_ = std::move(status);
}

}  // namespace forebay
