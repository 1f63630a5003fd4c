#include "cluster/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

bool host_letters(std::string_view host, bool bracketed) {
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [bracketed](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || (bracketed && (c == ':' || c == '%'));
  });
}

}  // namespace

std::string HostPort::to_string() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<HostPort> parse_host_port(std::string_view text) {
  const auto wrong = [&] {
    return invalid_argument(
        fmt::format("'{}' is no address of a host; give \"host:port\", such as \"10.0.0.7:4100\" or "
                    "\"[fd00::7]:4100\"",
                    text));
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  HostPort address{std::string(host)};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (error != std::errc() || end != digits.data() + digits.size() || !host_letters(host, bracketed)) return wrong();
  return address;
}

bool is_any_address(std::string_view host) {
  const std::string text(host);
  in_addr four{};
  in6_addr six{};
  if (::inet_aton(text.c_str(), &four) != 0) return four.s_addr == 0;
  const in6_addr any = IN6ADDR_ANY_INIT;
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && std::memcmp(&six, &any, sizeof any) == 0;
}

}  // namespace forebay
