#include "cluster/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

bool host_letters(std::string_view host, bool bracketed) {
  // The longest name that a resolver takes (RFC 1035, section 2.3.4). '%' is for the zone of a link-local address.
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

std::string own_host_address() {
  std::array<char, 256> name{};
  std::string found = "127.0.0.1";
  if (::gethostname(name.data(), name.size() - 1) != 0) return found;
  addrinfo wanted{}, *addresses = nullptr;
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(name.data(), nullptr, &wanted, &addresses) != 0) return found;
  for (const addrinfo* each = addresses; each != nullptr; each = each->ai_next) {
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* four = reinterpret_cast<const sockaddr_in*>(each->ai_addr);
    if (::inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size()) == nullptr) continue;
    if (std::string_view(text.data()).starts_with("127.")) continue;
    found = text.data();
    break;
  }
  ::freeaddrinfo(addresses);
  return found;
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
