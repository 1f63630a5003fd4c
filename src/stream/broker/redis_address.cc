#include "stream/broker/redis_address.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "format/files/braces.h"
#include "stream/broker/broker_options.h"
#include "stream/broker_url.h"

namespace forebay {

namespace {

constexpr size_t kMaxStreams = 10'000;
constexpr std::array<std::string_view, 1> kRedisOptions = {"server_name"};

Result<int> database_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    return invalid_argument(
        fmt::format("'{}' is no number of a database; a '/' in a stream's name is written %2F", text));
  return number;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Other braces may be part of a name: in a cluster they mark the part of a name that is hashed.
bool has_range(std::string_view name) {
  const size_t dots = name.find("..");
  return dots != name.npos && name.find('{') < dots && name.find('}', dots) != name.npos;
}

}  // namespace

Result<RedisAddress> RedisAddress::parse(std::string_view text, const std::map<std::string, std::string>& options) {
  FOREBAY_ASSIGN(BrokerUrl url, parse_broker_url(text, 6379));
  FOREBAY_ASSIGN(const BrokerOptions who, parse_broker_options(options, url, kRedisOptions));
  if (who.any_tls && url.scheme != "rediss")
    return invalid_argument("storage options of TLS are for rediss://, and redis:// is without; write rediss://");
  if (url.hosts.size() != 1) return invalid_argument("a redis:// URL names one server");
  if (url.path.empty() || url.path.size() > 2)
    return invalid_argument("a redis:// URL is redis://[user:password@]host[:port][/db]/STREAM");
  if (url.path.size() == 1 && is_number(url.path[0]))
    return invalid_argument(fmt::format(
        "the URL names a database and no stream: write /{0}/STREAM, or /0/{0} for a stream of that name", url.path[0]));
  RedisAddress address;
  address.host = url.hosts[0];
  address.user = who.user;
  address.password = who.password;
  if (url.scheme == "rediss") address.tls = who.tls;
  if (url.path.size() == 2) {
    FOREBAY_ASSIGN(address.database, database_of(url.path[0]));
  }
  if (url.path.back().empty()) return invalid_argument("the URL names no stream");
  // Only braces are allowed: a wildcard could name other streams in the next run, or on another
  // rank.
  FOREBAY_ASSIGN(address.streams, expand_braces(url.path.back()));
  if (const std::string& name = address.streams.front(); address.streams.size() == 1 && has_range(name))
    return invalid_argument(fmt::format("the braces in '{}' are no range; write NAME-{{000..003}}", name));
  std::vector<std::string> sorted = address.streams;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end())
    return invalid_argument(fmt::format("'{}' names a stream twice", url.path.back()));
  if (sorted.size() > kMaxStreams)
    return invalid_argument(
        fmt::format("'{}' names {} streams; {} is the most", url.path.back(), sorted.size(), kMaxStreams));
  address.name = fmt::format("{}://{}/{}/{}", url.scheme, address.host.to_string(), address.database, url.path.back());
  return address;
}

}  // namespace forebay
