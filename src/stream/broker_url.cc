#include "stream/broker_url.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace forebay {

namespace {

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 3 <= text.size() ? hexadecimal(text[i + 1]) : -1;
    const int low = i + 3 <= text.size() ? hexadecimal(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

Result<std::string> decoded_part(std::string_view part, const char* what) {
  auto text = percent_decoded(part);
  if (!text || text->find('\0') != std::string::npos || text->size() > 1000)
    return invalid_argument(fmt::format("the {} of the URL is no text behind its percent signs", what));
  return *std::move(text);
}

Result<std::vector<HostPort>> hosts_of(std::string_view text, uint16_t default_port) {
  std::vector<HostPort> hosts;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string host(text.substr(0, comma));
    const size_t colon = host.rfind(':');
    // A colon inside of [brackets] belongs to an IPv6 address.
    const bool has_port = colon != std::string::npos && host.find(']', colon) == std::string::npos;
    if (!has_port) host += fmt::format(":{}", default_port);
    FOREBAY_ASSIGN(HostPort address, parse_host_port(host));
    if (address.port == 0) return invalid_argument(fmt::format("'{}' has port 0, which nobody listens at", host));
    hosts.push_back(std::move(address));
    if (comma == text.size()) return hosts;
    text.remove_prefix(comma + 1);
  }
}

Status read_credentials(std::string_view text, BrokerUrl& url) {
  const size_t colon = std::min(text.find(':'), text.size());
  FOREBAY_ASSIGN(url.user, decoded_part(text.substr(0, colon), "user"));
  if (colon < text.size()) {
    FOREBAY_ASSIGN(url.password, decoded_part(text.substr(colon + 1), "password"));
  }
  return {};
}

}  // namespace

std::string BrokerUrl::without_credentials() const {
  std::string text = scheme + "://";
  for (const HostPort& host : hosts) text += (text.back() == '/' ? "" : ",") + host.to_string();
  return fmt::format("{}/{}", text, fmt::join(path, "/"));
}

Result<BrokerUrl> parse_broker_url(std::string_view text, uint16_t default_port) {
  BrokerUrl url;
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos) return invalid_argument("no URL: '://' is missing");
  url.scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  rest.remove_prefix(slash);
  // The last '@' counts: a password may contain others that are not percent-encoded.
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    FOREBAY_RETURN_IF_ERROR(read_credentials(authority.substr(0, at), url));
    authority.remove_prefix(at + 1);
  } else if (rest.find('@') != std::string_view::npos) {
    return invalid_argument(
        "the URL has an '@' behind a '/'; write '/' in a password as %2F, and '@' in a name as %40");
  }
  FOREBAY_ASSIGN(url.hosts, hosts_of(authority, default_port));
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find('/'), rest.size());
    if (end > 0 || end < rest.size()) {
      FOREBAY_ASSIGN(std::string part, decoded_part(rest.substr(0, end), "path"));
      url.path.push_back(std::move(part));
    }
    rest.remove_prefix(end);
  }
  return url;
}

}  // namespace forebay
