#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "brokers/kafka/kafka_reader.h"
#include "stream/broker/broker_log.h"
#include "stream/detached_call.h"
#include "stream/number_offset.h"
#include "stream/stream_clock.h"

namespace forebay {

namespace {

using KafkaClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kKafkaEndsLimit{30'000}, kTryAgain{500};

std::vector<std::string> partition_names(const KafkaAddress& address) {
  std::vector<std::string> names;
  for (const size_t number : address.partitions) names.push_back(fmt::format("{}/{}", address.topic, number));
  return names;
}

/// Sets the partitions to read of a topic with `count` partitions.
Status choose_partitions(KafkaAddress& address, size_t count) {
  if (!address.partitions.empty() && address.partitions.back() >= count)
    return invalid_argument(fmt::format("partition {} is chosen, and the topic '{}' has {}, which count from 0",
                                        address.partitions.back(), address.topic, count));
  address.chosen = !address.partitions.empty();
  for (size_t i = 0; i < count && !address.chosen; ++i) address.partitions.push_back(i);
  return {};
}

class KafkaLog final : public BrokerLog {
 public:
  /// `address` names the partitions.
  explicit KafkaLog(KafkaAddress address) : address_(std::move(address)), partitions_(partition_names(address_)) {}

  const std::vector<std::string>& partitions() const override { return partitions_; }
  std::string identity() const override {
    // A state of chosen partitions has offsets of these alone. Without a choice the identity has no
    // partitions.
    return address_.name + (address_.chosen ? fmt::format(" {}", fmt::join(address_.partitions, ",")) : "");
  }
  std::string name() const override { return address_.name; }

  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    std::vector<KafkaReader::Partition> partitions;
    for (const LogPosition& position : from) {
      if (!position.after.empty()) FOREBAY_RETURN_IF_ERROR(check_offset(position.after));
      const auto offset = number_of_offset(position.after);
      partitions.push_back({position.partition, number_of(position.partition),
                            offset ? static_cast<int64_t>(*offset) : -1, position.known_from_first});
    }
    return std::unique_ptr<LogReader>(std::make_unique<KafkaReader>(address_, std::move(partitions)));
  }

  Result<std::vector<std::string>> ends(std::stop_token stop) const override {
    const auto work = [address = address_]() -> Result<std::vector<std::string>> {
      FOREBAY_ASSIGN(const std::shared_ptr<KafkaClient> client, KafkaClient::make(address, address.partitions.size()));
      FOREBAY_RETURN_IF_ERROR(
          // Detects refusals, which the calls below do not.
          client->count_partitions(kKafkaEndsLimit).status());
      std::vector<std::string> ends;
      for (const size_t number : address.partitions) {
        FOREBAY_ASSIGN(const KafkaClient::Range range, client->range(static_cast<int32_t>(number), kKafkaEndsLimit));
        ends.push_back(range.end > 0 ? fmt::format("{}", range.end - 1) : "");
      }
      return ends;
    };
    auto ends = run_detached<std::vector<std::string>>(work, KafkaClock::now() + kKafkaEndsLimit, stop,
                                                       "asking Kafka for its ends");
    return ends.ok() ? std::move(ends) : Result<std::vector<std::string>>(ends.status().with_key(name()));
  }

  int compare(const std::string& a, const std::string& b) const override { return compare_number_offsets(a, b); }
  Status check_offset(const std::string& offset) const override {
    const auto number = number_of_offset(offset);
    if (number && *number < static_cast<uint64_t>(INT64_MAX)) return {};
    return invalid_argument(fmt::format("'{}' is no offset of Kafka, which are whole numbers", offset.substr(0, 100)));
  }

 private:
  int32_t number_of(size_t partition) const { return static_cast<int32_t>(address_.partitions[partition]); }

  const KafkaAddress address_;
  const std::vector<std::string> partitions_;
};

/// Waits until the cluster is available, and logs once that it waits.
Result<size_t> count_partitions(const KafkaAddress& address, const std::stop_token& stop,
                                std::chrono::milliseconds tell_after, void (*tell)(const std::string& line)) {
  // Captured by value, with a client of its own: it may continue after the caller has stopped
  // waiting.
  const auto work = [address, tell_after]() -> Result<size_t> {
    FOREBAY_ASSIGN(const std::shared_ptr<KafkaClient> client, KafkaClient::make(address, 1));
    return client->count_partitions(tell_after);
  };
  for (bool told = false;;) {
    // Longer than the client takes to report a problem.
    auto count =
        run_detached<size_t>(work, KafkaClock::now() + 2 * tell_after, stop, "asking Kafka for the topic's partitions");
    if (count.ok() || count.status().code() != Code::kUnavailable) return count;
    if (!std::exchange(told, true))
      tell(fmt::format("{}: still waiting for the cluster, which has to say how many partitions there are: {}",
                       address.name, count.status().message()));
    StreamClock::real().wait_for(kTryAgain, stop);  // some problems are reported at once
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) OpenKafkaLog forebay_kafka_log_v1;
extern "C" __attribute__((visibility("default"))) BrokerClient forebay_kafka_client_v1;

void forebay_kafka_log_v1(KafkaAddress address, std::stop_token stop, std::chrono::milliseconds tell_after,
                          void (*tell)(const std::string& line), Result<MadeBrokerLog>& opened) {
  const auto count = count_partitions(address, stop, tell_after, tell);
  Status status = count.ok() ? choose_partitions(address, *count) : count.status();
  if (status.ok()) {
    opened = MadeBrokerLog(std::make_shared<const KafkaLog>(std::move(address)));
  } else {
    opened = std::move(status).with_key(address.name);
  }
}

const char* forebay_kafka_client_v1() {
  static const std::string client = fmt::format("librdkafka {}", rd_kafka_version_str());
  return client.c_str();
}

}  // namespace forebay
