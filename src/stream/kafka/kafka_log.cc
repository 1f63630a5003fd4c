#include "stream/kafka/kafka_log.h"

#include <fmt/format.h>

#include "stream/aside.h"
#include "stream/kafka/kafka_reader.h"
#include "stream/number_offset.h"

namespace forebay {

namespace {

using KafkaClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kOpenLimit{30'000};

std::vector<std::string> numbered_partitions(const std::string& topic, size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}/{}", topic, i));
  return names;
}

class KafkaLog final : public RecordLog {
 public:
  KafkaLog(KafkaAddress address, size_t partitions, RecordFormat format)
      : address_(std::move(address)), format_(std::move(format)),
        partitions_(numbered_partitions(address_.topic, partitions)) {}

  const Schema& schema() const override { return format_.schema(); }
  const std::vector<std::string>& partitions() const override { return partitions_; }
  std::string identity() const override { return fmt::format("{} {}", address_.name, format_.identity()); }
  std::string name() const override { return address_.name; }
  size_t partitions_per_reader() const override { return partitions_.size(); }

  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    std::vector<KafkaReader::Partition> partitions;
    for (const LogPosition& position : from) {
      if (!position.after.empty()) FOREBAY_RETURN_IF_ERROR(check_offset(position.after));
      const auto offset = number_of_offset(position.after);
      partitions.push_back({position.partition, offset ? static_cast<int64_t>(*offset) : -1});
    }
    return std::unique_ptr<LogReader>(std::make_unique<KafkaReader>(address_, std::move(partitions)));
  }

  Result<std::vector<std::string>> ends(std::stop_token stop) const override {
    const auto work = [address = address_, count = partitions_.size()]() -> Result<std::vector<std::string>> {
      FOREBAY_ASSIGN(const std::shared_ptr<KafkaClient> client, KafkaClient::make(address, count));
      std::vector<std::string> ends;
      for (size_t i = 0; i < count; ++i) {
        FOREBAY_ASSIGN(const KafkaClient::Range range, client->range(i, kOpenLimit));
        ends.push_back(range.end > 0 ? fmt::format("{}", range.end - 1) : "");
      }
      return ends;
    };
    return run_aside<std::vector<std::string>>(work, KafkaClock::now() + kOpenLimit, stop, "asking Kafka for its ends");
  }

  int compare(const std::string& a, const std::string& b) const override { return compare_number_offsets(a, b); }
  Status check_offset(const std::string& offset) const override {
    const auto number = number_of_offset(offset);
    if (number && *number < static_cast<uint64_t>(INT64_MAX)) return {};
    return invalid_argument(fmt::format("'{}' is no offset of Kafka, which are whole numbers", offset.substr(0, 100)));
  }
  Status load(const LogRecord& record, Buffer, Record& out) const override {
    return format_.load(record.key, record.payload, out);
  }

 private:
  const KafkaAddress address_;
  const RecordFormat format_;
  const std::vector<std::string> partitions_;
};

}  // namespace

Result<std::shared_ptr<const RecordLog>> open_kafka_log(KafkaAddress address, RecordFormat format,
                                                        std::stop_token stop) {
  const auto work = [address]() -> Result<size_t> {
    FOREBAY_ASSIGN(const std::shared_ptr<KafkaClient> client, KafkaClient::make(address, 1));
    return client->count_partitions(kOpenLimit);
  };
  auto count = run_aside<size_t>(work, KafkaClock::now() + kOpenLimit, stop, "asking Kafka for partitions");
  if (!count.ok()) return count.status().with_key(address.name);
  return std::shared_ptr<const RecordLog>(
      std::make_shared<const KafkaLog>(std::move(address), *count, std::move(format)));
}

}  // namespace forebay
