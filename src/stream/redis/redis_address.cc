#include "stream/redis/redis_address.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "format/objects/braces.h"
#include "stream/broker_url.h"

namespace forebay {

namespace {

constexpr size_t kMostStreams = 10'000;

Result<int> database_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    return invalid_argument(
        fmt::format("'{}' is no number of a database; a '/' in a stream's name is written %2F", text));
  return number;
}

}  // namespace

Result<RedisAddress> RedisAddress::parse(std::string_view text) {
  FOREBAY_ASSIGN(BrokerUrl url, parse_broker_url(text, 6379));
  if (url.scheme == "rediss")
    return unsupported(
        "rediss:// is Redis over TLS, which the hiredis of this build does not speak; use redis:// through a tunnel "
        "(stunnel, ssh)");
  if (url.hosts.size() != 1) return invalid_argument("a redis:// URL names one server");
  if (url.path.empty() || url.path.size() > 2)
    return invalid_argument("a redis:// URL is redis://[user:password@]host[:port][/db]/STREAM");
  RedisAddress address;
  address.host = url.hosts[0];
  address.user = url.user;
  address.password = url.password;
  if (url.path.size() == 2) {
    FOREBAY_ASSIGN(address.database, database_of(url.path[0]));
  }
  if (url.path.back().empty()) return invalid_argument("the URL names no stream");
  FOREBAY_ASSIGN(address.streams, expand_braces(url.path.back()));
  std::vector<std::string> sorted = address.streams;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    return invalid_argument(fmt::format("'{}' names a stream twice", url.path.back()));
  if (sorted.size() > kMostStreams)
    return invalid_argument(
        fmt::format("'{}' names {} streams; {} is the most", url.path.back(), sorted.size(), kMostStreams));
  address.name = fmt::format("redis://{}/{}/{}", address.host.to_string(), address.database, url.path.back());
  return address;
}

}  // namespace forebay
