#include "stream/nats/nats_address.h"

#include <algorithm>

#include <fmt/format.h>

#include "stream/broker_url.h"

namespace forebay {

namespace {

bool is_nats_name(std::string_view text, std::string_view refused) {
  return !text.empty() && std::ranges::all_of(text, [refused](unsigned char c) {
    return c > ' ' && c != 0x7f && refused.find(static_cast<char>(c)) == std::string_view::npos;
  });
}

}  // namespace

Result<NatsAddress> NatsAddress::parse(std::string_view text) {
  FOREBAY_ASSIGN(const BrokerUrl url, parse_broker_url(text, 4222));
  if (url.path.empty() || url.path.size() > 2 || !is_nats_name(url.path[0], ".*>"))
    return invalid_argument("a nats:// URL is nats://[user:password@]host[:port]/STREAM[/SUBJECT]");
  NatsAddress address;
  for (const HostPort& host : url.hosts) address.servers.push_back("nats://" + host.to_string());
  address.user = url.user;
  address.password = url.password;
  address.stream = url.path[0];
  if (url.path.size() == 2) address.subject = url.path[1];
  if (url.path.size() == 2 && !is_nats_name(address.subject, ""))
    return invalid_argument(fmt::format("'{}' is no subject of NATS", address.subject));
  address.name = url.without_credentials();
  return address;
}

}  // namespace forebay
