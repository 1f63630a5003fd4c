#include "stream/broker/broker_logs.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/shared_module.h"
#include "stream/broker/broker_log.h"
#include "stream/named_values.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using OpenedRecords = Result<std::shared_ptr<const RecordLog>>;

/// Returns the value of an entry that is the payload.
Result<Buffer> only_value(const Buffer& payload) {
  FOREBAY_ASSIGN(const std::vector<NamedValue> values, named_values(payload.span()));
  const std::span<const uint8_t>* value = values.size() == 1 ? &values[0].second : find_named(values, "data");
  if (value == nullptr) {
    std::string names;
    for (const auto& [name, bytes] : values) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
    return corrupt(fmt::format(
        "an entry with the fields {}: format='fields' takes them by name; for other formats there is to be one, or "
        "one called 'data'",
        values.empty() ? "(none)" : names.substr(0, 300)));
  }
  if (value->empty()) return Buffer();
  return payload.slice(static_cast<size_t>(value->data() - payload.data()), value->size());
}

/// A RecordLog that parses the payloads of a broker's log into fields.
class FormattedLog final : public RecordLog {
 public:
  /// `entries`: whether payloads are entries of Redis.
  FormattedLog(MadeBrokerLog log, RecordFormat format, bool entries)
      : log_(std::move(log)), format_(std::move(format)),
        only_value_(entries && format_.form() != PayloadForm::kFields) {}

  const Schema& schema() const override { return format_.schema(); }
  const std::vector<std::string>& partitions() const override { return log_->partitions(); }
  std::string identity() const override { return fmt::format("{} {}", log_->identity(), format_.identity()); }
  std::string name() const override { return log_->name(); }
  bool is_served() const override { return true; }
  size_t partitions_per_reader() const override { return partitions().size(); }
  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    return log_->read_after(std::move(from));
  }
  Result<std::vector<std::string>> ends(std::stop_token stop) const override { return log_->ends(std::move(stop)); }
  int compare(const std::string& a, const std::string& b) const override { return log_->compare(a, b); }
  Status check_offset(const std::string& offset) const override { return log_->check_offset(offset); }
  std::string place_of(const LogRecord& record) const override { return log_->place_of(record); }
  Status load(const LogRecord& record, Buffer, Record& out) const override {
    if (!only_value_) return format_.decode(record.key, record.payload, out);
    FOREBAY_ASSIGN(const Buffer value, only_value(record.payload));
    return format_.decode(record.key, value, out);
  }

 private:
  const MadeBrokerLog log_;
  const RecordFormat format_;
  const bool only_value_;
};

/// Loads the module libforebay_BROKER.so and returns its function forebay_BROKER_FUNCTION: see
/// broker_log.h.
Result<void*> function_of_broker(const std::string& broker, std::string_view function) {
  static const std::map<std::string, std::pair<std::string, std::string>> libraries = {
      {"redis", {"hiredis", "libhiredis-dev"}},
      {"nats", {"the NATS C client", "libnats-dev"}},
      {"kafka", {"librdkafka", "librdkafka-dev"}}};
  const auto& [library, package] = libraries.at(broker);
  return function_of_module(
      {.file = fmt::format("libforebay_{}.so", broker),
       .function = fmt::format("forebay_{}_{}", broker, function),
       .needed = fmt::format("{0}:// needs the module libforebay_{0}.so, which needs {1} and OpenSSL: install {2} and "
                             "libssl-dev, then build Forebay again if the module is missing",
                             broker, library, package)});
}

OpenedRecords formatted(MadeBrokerLog log, RecordFormat format, bool entries = false) {
  return std::shared_ptr<const RecordLog>(
      std::make_shared<const FormattedLog>(std::move(log), std::move(format), entries));
}

}  // namespace

OpenedRecords redis_log(RedisAddress address, RecordFormat format) {
  FOREBAY_ASSIGN(void* const function, function_of_broker("redis", "log_v1"));
  MadeBrokerLog log;
  reinterpret_cast<MakeRedisLog*>(function)(std::move(address), log);
  return formatted(std::move(log), std::move(format), true);
}

OpenedRecords nats_log(NatsAddress address, RecordFormat format) {
  FOREBAY_ASSIGN(void* const function, function_of_broker("nats", "log_v1"));
  MadeBrokerLog log;
  reinterpret_cast<MakeNatsLog*>(function)(std::move(address), log);
  return formatted(std::move(log), std::move(format));
}

OpenedRecords open_kafka_log(KafkaAddress address, RecordFormat format, std::stop_token stop,
                             std::chrono::milliseconds tell_after) {
  FOREBAY_ASSIGN(void* const function, function_of_broker("kafka", "log_v1"));
  Result<MadeBrokerLog> log = MadeBrokerLog();
  reinterpret_cast<OpenKafkaLog*>(function)(std::move(address), std::move(stop), tell_after, log_warning, log);
  if (!log.ok()) return log.status();
  return formatted(*std::move(log), std::move(format));
}

Result<std::string> broker_client(const std::string& broker) {
  FOREBAY_ASSIGN(void* const function, function_of_broker(broker, "client_v1"));
  return std::string(reinterpret_cast<BrokerClient*>(function)());
}

}  // namespace forebay
