#include "stream/broker/nats_address.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "stream/broker/broker_options.h"
#include "stream/broker_url.h"

namespace forebay {

namespace {

// Subjects are words between dots. A blank or a line end would end the protocol's command.
bool is_nats_name(std::string_view text, std::string_view refused) {
  return !text.empty() && std::ranges::all_of(text, [refused](unsigned char c) {
    return c > ' ' && c != 0x7f && refused.find(static_cast<char>(c)) == std::string_view::npos;
  });
}

constexpr std::array<std::string_view, 5> kNatsOptions = {"credentials_file", "nkey", "nkey_seed_file", "server_name",
                                                          "token"};

Status check_secret_file(const char* option, const std::string& path) {
  if (path.empty() || ::access(path.c_str(), R_OK) == 0) return {};
  return invalid_argument(fmt::format("{}: '{}' cannot be read: {}", option, path, std::strerror(errno)));
}

Status read_who_asks(const BrokerOptions& options, NatsAddress& address) {
  address.user = options.user;
  address.password = options.password;
  address.credentials_file = options.own_text("credentials_file");
  address.nkey = options.own_text("nkey");
  address.nkey_seed_file = options.own_text("nkey_seed_file");
  const std::string token = options.own_text("token");
  if (address.nkey.empty() != address.nkey_seed_file.empty())
    return invalid_argument("nkey (U…) and nkey_seed_file belong together: give both or none");
  // The library would silently use the one that was set last.
  const int ways = int{!address.user.empty()} + int{!token.empty()} + int{!address.credentials_file.empty()} +
                   int{!address.nkey.empty()};
  if (ways > 1)
    return invalid_argument("user, token, credentials_file and nkey say who asks, each in its way; give one of them");
  // As in URLs, a user without a password is a token.
  if (!token.empty()) address.user = token;
  FOREBAY_RETURN_IF_ERROR(check_secret_file("credentials_file", address.credentials_file));
  return check_secret_file("nkey_seed_file", address.nkey_seed_file);
}

}  // namespace

Result<NatsAddress> NatsAddress::parse(std::string_view text, const std::map<std::string, std::string>& given) {
  FOREBAY_ASSIGN(const BrokerUrl url, parse_broker_url(text, 4222));
  if (url.path.empty() || url.path.size() > 2 || !is_nats_name(url.path[0], ".*>"))
    return invalid_argument("a nats:// URL is nats://[user:password@]host[:port]/STREAM[/SUBJECT]");
  FOREBAY_ASSIGN(const BrokerOptions options, parse_broker_options(given, url, kNatsOptions));
  NatsAddress address;
  address.servers = url.hosts;
  address.secure = url.scheme == "tls" || options.any_tls;
  address.tls = options.tls;
  FOREBAY_RETURN_IF_ERROR(read_who_asks(options, address));
  address.stream = url.path[0];
  if (url.path.size() == 2) address.subject = url.path[1];
  if (url.path.size() == 2 && !is_nats_name(address.subject, ""))
    return invalid_argument(fmt::format("'{}' is no subject of NATS", address.subject));
  address.name = url.without_credentials();
  return address;
}

}  // namespace forebay
