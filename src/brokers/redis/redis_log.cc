#include <memory>

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include "brokers/redis/redis_reader.h"
#include "stream/backoff.h"
#include "stream/broker/broker_log.h"

namespace forebay {

namespace {

// If this is Unavailable, the caller logs a message and tries again.
constexpr std::chrono::seconds kEndsLimit{30};

class RedisLog final : public BrokerLog {
 public:
  explicit RedisLog(RedisAddress address) : address_(std::move(address)) {}

  const std::vector<std::string>& partitions() const override { return address_.streams; }
  std::string name() const override { return address_.name; }

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
    auto ends = retry_until_available([&] { return ask_ends(stop); }, kEndsLimit, StreamClock::real(), stop);
    return ends.ok() ? ends : Result<std::vector<std::string>>(ends.status().with_key(name()));
  }

  int compare(const std::string& a, const std::string& b) const override {
    // Compared as numbers, because as text 9-0 comes after 10-0.
    const auto order = StreamId::parse(a) <=> StreamId::parse(b);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  Status check_offset(const std::string& offset) const override {
    if (StreamId::parse(offset)) return {};
    return invalid_argument(
        fmt::format("'{}' is no offset of a Redis stream, such as '1700000000000-3'", offset.substr(0, 100)));
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
};

}  // namespace

extern "C" __attribute__((visibility("default"))) MakeRedisLog forebay_redis_log_v1;
extern "C" __attribute__((visibility("default"))) BrokerClient forebay_redis_client_v1;

void forebay_redis_log_v1(RedisAddress address, MadeBrokerLog& made) {
  made = std::make_shared<const RedisLog>(std::move(address));
}

const char* forebay_redis_client_v1() {
  static const std::string client = fmt::format("hiredis {}.{}.{}", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
  return client.c_str();
}

}  // namespace forebay
