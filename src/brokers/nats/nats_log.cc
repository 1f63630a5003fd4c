#include <memory>

#include <fmt/format.h>

#include "brokers/nats/nats_reader.h"
#include "stream/backoff.h"
#include "stream/broker/broker_log.h"
#include "stream/number_offset.h"

namespace forebay {

namespace {

constexpr std::chrono::seconds kAskLimit{30};

class NatsLog final : public BrokerLog {
 public:
  explicit NatsLog(NatsAddress address) : address_(std::move(address)), partitions_{address_.stream} {}

  const std::vector<std::string>& partitions() const override { return partitions_; }
  std::string name() const override { return address_.name; }

  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    const std::string after = from.empty() ? "" : from[0].after;
    if (!after.empty()) FOREBAY_RETURN_IF_ERROR(check_offset(after));
    return std::unique_ptr<LogReader>(std::make_unique<NatsReader>(address_, number_of_offset(after).value_or(0),
                                                                   !from.empty() && from[0].known_from_first));
  }

  Result<std::vector<std::string>> ends(std::stop_token stop) const override {
    const auto deadline = std::chrono::steady_clock::now() + kAskLimit;
    const auto range = retry_until_available([&] { return NatsSession::ask(address_, deadline, stop); }, kAskLimit,
                                             StreamClock::real(), stop);
    if (!range.ok()) return range.status().with_key(name());
    // Messages count from 1. The last number remains when all messages are gone.
    return std::vector<std::string>{range->last == 0 ? "" : fmt::format("{}", range->last)};
  }

  int compare(const std::string& a, const std::string& b) const override { return compare_number_offsets(a, b); }
  Status check_offset(const std::string& offset) const override {
    return check_number_offset(offset, "JetStream (sequence numbers)", 1);
  }
  std::string place_of(const LogRecord& record) const override {
    return fmt::format("{} {} ({})", partitions_[record.partition], record.offset, record.key);
  }

 private:
  const NatsAddress address_;
  const std::vector<std::string> partitions_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) MakeNatsLog forebay_nats_log_v1;
extern "C" __attribute__((visibility("default"))) BrokerClient forebay_nats_client_v1;

void forebay_nats_log_v1(NatsAddress address, MadeBrokerLog& made) {
  made = std::make_shared<const NatsLog>(std::move(address));
}

const char* forebay_nats_client_v1() {
  static const std::string client = fmt::format("cnats {}", nats_GetVersion());
  return client.c_str();
}

}  // namespace forebay
