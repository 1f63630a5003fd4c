#include "brokers/kafka/kafka_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "stream/detached_call.h"

namespace forebay {

namespace {

// Partitions are polled in turn without waiting for any, which is cheap because messages are
// fetched ahead.
constexpr std::chrono::milliseconds kPollInterval{2};
constexpr std::chrono::milliseconds kAskRangeMs{10'000};
constexpr std::chrono::milliseconds kCheckEvery{1'000};
constexpr std::chrono::milliseconds kStopTimeout{200};
constexpr size_t kLongestMessageKey = 1000;

struct DestroyKafkaMessage {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};
using KafkaMessage = std::unique_ptr<rd_kafka_message_t, DestroyKafkaMessage>;

/// Returns the message's own key if it is text, or else its partition and offset.
std::string key_of(const rd_kafka_message_t& message) {
  const std::span<const uint8_t> key(static_cast<const uint8_t*>(message.key), message.key_len);
  if (!key.empty() && key.size() <= kLongestMessageKey && is_utf8(key)) return {key.begin(), key.end()};
  return fmt::format("{}:{}", message.partition, message.offset);
}

/// Keeps a message alive for its payload, without a copy. The message is destroyed before the
/// client, whose destruction would wait for it and which the library uses while it frees a message.
struct HeldMessage {
  std::shared_ptr<KafkaClient> client;
  KafkaMessage message;
};

LogRecord record_of(KafkaMessage message, size_t partition, const std::shared_ptr<KafkaClient>& client) {
  LogRecord record{partition, fmt::format("{}", message->offset), key_of(*message)};
  auto* const data = static_cast<uint8_t*>(message->payload);
  const size_t size = message->len;
  // An empty payload (a tombstone) needs no memory, so the message is freed at once.
  if (size == 0) return record;
  record.payload = Buffer(data, size, std::make_shared<HeldMessage>(HeldMessage{client, std::move(message)}));
  return record;
}

}  // namespace

KafkaReader::~KafkaReader() {
  if (!client_) return;
  // Runs on another thread, because the library's threads may be waiting for a server.
  const auto work = [client = client_]() -> Result<bool> {
    client->stop();
    return true;
  };
  (void)run_detached<bool>(work, clock_.now() + kStopTimeout, {}, "it ends");
}

Status KafkaReader::poll(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                         std::vector<LogRecord>& records) {
  FOREBAY_ASSIGN(std::vector<Partition*> partitions, find_wanted(wanted, partitions_));
  // Rotated, so that a partition that always has messages does not use all bytes of a read.
  std::ranges::rotate(partitions, partitions.begin() + static_cast<ptrdiff_t>(first_++ % partitions.size()));
  if (!client_) {
    FOREBAY_ASSIGN(client_, KafkaClient::make(address_, partitions_.size()));
  }
  client_->poll();
  FOREBAY_RETURN_IF_ERROR(client_->refusal().with_key(address_.name));
  uint64_t bytes = limits.bytes;
  for (Partition* const from : partitions) {
    const Status status = read_partition(*from, limits, bytes, stop, records);
    if (!status.ok() && status.code() != Code::kUnavailable) return Status(status).with_key(address_.name);
  }
  if (records.empty() && limits.wait.count() > 0) check_trouble(stop);
  return {};
}

KafkaReader::Time KafkaReader::next_poll(size_t) { return clock_.now() + kPollInterval; }

Status KafkaReader::read_partition(Partition& from, const Limits& limits, uint64_t& bytes, const std::stop_token& stop,
                                   std::vector<LogRecord>& out) {
  if (!from.started) {
    FOREBAY_RETURN_IF_ERROR(client_->start(from.number, resumes(from) ? from.position + 1 : RD_KAFKA_OFFSET_BEGINNING));
    from.started = true;
  }
  for (size_t count = 0; count < std::max<size_t>(limits.records, 1) && bytes > 0; ++count) {
    KafkaMessage message(rd_kafka_consume(client_->topic(), from.number, 0));
    if (!message) break;
    if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET || message->err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE)
      return find_position(from, stop);
    if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) break;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
      return status_of_kafka(message->err, rd_kafka_message_errstr(message.get()), address_);
    // The library fetches whole batches, which may begin before the requested offset.
    if (message->offset <= from.position) continue;
    from.position = message->offset;
    bytes -= std::min<uint64_t>(bytes, message->len);
    out.push_back(record_of(std::move(message), from.partition, client_));
  }
  return {};
}

Status KafkaReader::find_position(Partition& from, const std::stop_token& stop) {
  from.started = false;
  const auto work = [client = client_, number = from.number] { return client->range(number, kAskRangeMs); };
  FOREBAY_ASSIGN(const KafkaClient::Range range,
                 run_detached<KafkaClient::Range>(work, clock_.now() + kAskRangeMs, stop, "asking Kafka"));
  const int64_t next = from.position + 1;
  // At the end itself, reading waits for new messages.
  if (next > range.end)
    return not_found(fmt::format(
        "partition {} ends before offset {}, where reading is to go on: the topic was made anew", from.number, next));
  if (next < range.first && resumes(from))
    gaps_.push_back({from.partition, range.first - next, fmt::format("{}", range.first)});
  if (next < range.first) from.position = range.first - 1;
  return {};
}

void KafkaReader::check_trouble(const std::stop_token& stop) {
  if (clock_.now() < check_again_ || client_->trouble().empty()) return;
  const auto work = [client = client_] { return client->count_partitions(kCheckEvery); };
  if (run_detached<size_t>(work, clock_.now() + kCheckEvery, stop, "asking Kafka").ok()) {
    client_->clear_trouble();
    ++reconnects_;
  }
  check_again_ = clock_.now() + kCheckEvery;
}

}  // namespace forebay
