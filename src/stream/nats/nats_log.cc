#include "stream/nats/nats_log.h"

#include <fmt/format.h>

#include "stream/nats/nats_reader.h"
#include "stream/number_offset.h"
#include "stream/pause.h"

namespace forebay {

namespace {

constexpr std::chrono::seconds kAskLimit{30};

class NatsLog final : public RecordLog {
 public:
  NatsLog(NatsAddress address, RecordFormat format)
      : address_(std::move(address)), format_(std::move(format)), partitions_{address_.stream} {}

  const Schema& schema() const override { return format_.schema(); }
  const std::vector<std::string>& partitions() const override { return partitions_; }
  bool is_served() const override { return true; }
  std::string identity() const override { return fmt::format("{} {}", address_.name, format_.identity()); }
  std::string name() const override { return address_.name; }

  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    const std::string after = from.empty() ? "" : from[0].after;
    if (!after.empty()) FOREBAY_RETURN_IF_ERROR(check_offset(after));
    return std::unique_ptr<LogReader>(std::make_unique<NatsReader>(address_, number_of_offset(after).value_or(0),
                                                                   !from.empty() && from[0].known_from_first));
  }

  Result<std::vector<std::string>> ends(std::stop_token stop) const override {
    Backoff backoff;
    const auto end = std::chrono::steady_clock::now() + kAskLimit;
    while (true) {
      const auto range = NatsSession::ask(address_, end, stop);
      // Messages count from 1; the last number stays when all of them are gone.
      if (range.ok()) return std::vector<std::string>{range->last == 0 ? "" : fmt::format("{}", range->last)};
      const bool again = range.status().code() == Code::kUnavailable && std::chrono::steady_clock::now() < end;
      if (!again || !pause_for(backoff.next(), stop)) return range.status().with_key(name());
    }
  }

  int compare(const std::string& a, const std::string& b) const override { return compare_number_offsets(a, b); }
  Status check_offset(const std::string& offset) const override {
    return check_number_offset(offset, "JetStream (sequence numbers)", 1);
  }
  std::string place_of(const LogRecord& record) const override {
    return fmt::format("{} {} ({})", partitions_[record.partition], record.offset, record.key);
  }
  Status load(const LogRecord& record, Buffer, Record& out) const override {
    return format_.load(record.key, record.payload, out);
  }

 private:
  const NatsAddress address_;
  const RecordFormat format_;
  const std::vector<std::string> partitions_;
};

}  // namespace

Result<std::shared_ptr<const RecordLog>> nats_log(NatsAddress address, RecordFormat format) {
  return std::shared_ptr<const RecordLog>(std::make_shared<const NatsLog>(std::move(address), std::move(format)));
}

}  // namespace forebay
