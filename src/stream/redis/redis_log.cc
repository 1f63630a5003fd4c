#include "stream/redis/redis_log.h"

#include <fmt/format.h>

#include "stream/named_values.h"
#include "stream/pause.h"
#include "stream/redis/redis_reader.h"

namespace forebay {

namespace {

// The caller tries again where it is Unavailable; a message comes between.
constexpr std::chrono::seconds kEndsLimit{30};

/// The one value of an entry that is the payload.
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

class RedisLog final : public RecordLog {
 public:
  RedisLog(RedisAddress address, RecordFormat format) : address_(std::move(address)), format_(std::move(format)) {}

  const Schema& schema() const override { return format_.schema(); }
  const std::vector<std::string>& partitions() const override { return address_.streams; }
  bool is_served() const override { return true; }
  std::string identity() const override { return fmt::format("{} {}", address_.name, format_.identity()); }
  std::string name() const override { return address_.name; }
  size_t partitions_per_reader() const override { return address_.streams.size(); }

  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    std::vector<RedisReader::Stream> streams;
    for (const LogPosition& position : from) {
      if (!position.after.empty()) FOREBAY_RETURN_IF_ERROR(check_offset(position.after));
      streams.push_back(
          {position.partition, StreamId::parse(position.after).value_or(StreamId{}), position.known_from_first});
    }
    return std::unique_ptr<LogReader>(std::make_unique<RedisReader>(address_, std::move(streams)));
  }

  Result<std::vector<std::string>> ends(std::stop_token stop) const override {
    Backoff backoff;
    const auto end = std::chrono::steady_clock::now() + kEndsLimit;
    while (true) {
      auto ends = ask_ends(stop);
      const bool again = ends.status().code() == Code::kUnavailable && std::chrono::steady_clock::now() < end;
      if (!again || !pause_for(backoff.next(), stop))
        return ends.ok() ? ends : Result<std::vector<std::string>>(ends.status().with_key(name()));
    }
  }

  int compare(const std::string& a, const std::string& b) const override {
    // By numbers: as text 9-0 comes behind 10-0.
    const auto order = StreamId::parse(a) <=> StreamId::parse(b);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  Status check_offset(const std::string& offset) const override {
    if (StreamId::parse(offset)) return {};
    return invalid_argument(
        fmt::format("'{}' is no offset of a Redis stream, such as '1700000000000-3'", offset.substr(0, 100)));
  }
  std::string place_of(const LogRecord& record) const override {
    return fmt::format("{} {}", partitions()[record.partition], record.offset);
  }
  Status load(const LogRecord& record, Buffer, Record& out) const override {
    if (format_.form() == PayloadForm::kFields) return format_.load(record.key, record.payload, out);
    FOREBAY_ASSIGN(const Buffer value, only_value(record.payload));
    return format_.load(record.key, value, out);
  }

 private:
  Result<std::vector<std::string>> ask_ends(const std::stop_token& stop) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    FOREBAY_ASSIGN(RedisConnection connection, RedisConnection::open(address_, deadline, stop));
    RedisCommands commands;
    for (const std::string& stream : address_.streams) commands.add({"XREVRANGE", stream, "+", "-", "COUNT", "1"});
    FOREBAY_RETURN_IF_ERROR(connection.send(commands, deadline, stop));
    std::vector<std::string> ends;
    for (size_t i = 0; i < address_.streams.size(); ++i) {
      FOREBAY_ASSIGN(const RedisReply* const reply, connection.receive(deadline, stop));
      if (reply->is(0, RedisReply::Kind::kError)) return status_of_redis_error(reply->text(0), address_);
      // [[id, fields]]: part 0 is the list, 1 the entry, 2 its id.
      const bool some = reply->size() > 2 && reply->is(2, RedisReply::Kind::kString);
      ends.emplace_back(some ? reply->text(2) : "");
      if (some) FOREBAY_RETURN_IF_ERROR(check_offset(ends.back()));
    }
    return ends;
  }

  const RedisAddress address_;
  const RecordFormat format_;
};

}  // namespace

Result<std::shared_ptr<const RecordLog>> redis_log(RedisAddress address, RecordFormat format) {
  return std::shared_ptr<const RecordLog>(std::make_shared<const RedisLog>(std::move(address), std::move(format)));
}

}  // namespace forebay
