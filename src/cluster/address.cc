#include "cluster/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace forebay {

namespace {

bool host_letters(std::string_view host, bool bracketed) {
  // The length is the longest name that a resolver takes (RFC 1035, section 2.3.4). '%' is for the
  // zone of a link-local address.
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [bracketed](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || (bracketed && (c == ':' || c == '%'));
  });
}

// Empty if it is not an IPv4 address, or one of the loopback, or 0.0.0.0.
std::string outward_text(const sockaddr* address) {
  if (address == nullptr || address->sa_family != AF_INET) return {};
  const in_addr four = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  std::array<char, INET_ADDRSTRLEN> text{};
  if (four.s_addr == 0 || ::inet_ntop(AF_INET, &four, text.data(), text.size()) == nullptr) return {};
  return std::string_view(text.data()).starts_with("127.") ? std::string() : text.data();
}

// Returns the address of the interface that the kernel would send from. Connecting a datagram
// socket only looks up the route; the address is reserved for documentation.
std::string routed_address() {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(9);
  ::inet_pton(AF_INET, "192.0.2.1", &there.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};
  sockaddr_in here{};
  auto* const own = reinterpret_cast<sockaddr*>(&here);
  socklen_t length = sizeof here;
  const bool found = ::connect(fd, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 &&
                     ::getsockname(fd, own, &length) == 0;
  ::close(fd);
  return found ? outward_text(own) : std::string();
}

}  // namespace

std::string outward_address() {
  std::string found = routed_address();
  ifaddrs* all = nullptr;
  if (!found.empty() || ::getifaddrs(&all) != 0) return found;
  constexpr unsigned kUp = IFF_UP | IFF_RUNNING;
  for (const ifaddrs* each = all; each != nullptr && found.empty(); each = each->ifa_next)
    if ((each->ifa_flags & kUp) == kUp && (each->ifa_flags & IFF_LOOPBACK) == 0) found = outward_text(each->ifa_addr);
  ::freeifaddrs(all);
  return found;
}

bool accepts_connections(const HostPort& at, std::chrono::milliseconds patience) {
  addrinfo wanted{}, *addresses = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &wanted, &addresses) != 0) return false;
  bool listens = false;
  for (const addrinfo* each = addresses; each != nullptr && !listens; each = each->ai_next) {
    const int fd = ::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    listens = ::connect(fd, each->ai_addr, each->ai_addrlen) == 0;
    pollfd taken{.fd = fd, .events = POLLOUT, .revents = 0};
    int failed = 0;
    socklen_t length = sizeof failed;
    if (!listens && errno == EINPROGRESS && ::poll(&taken, 1, static_cast<int>(patience.count())) == 1)
      listens = ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &length) == 0 && failed == 0;
    ::close(fd);
  }
  ::freeaddrinfo(addresses);
  return listens;
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
  std::string found;
  addrinfo wanted{}, *addresses = nullptr;
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  if (::gethostname(name.data(), name.size() - 1) == 0 &&
      ::getaddrinfo(name.data(), nullptr, &wanted, &addresses) == 0) {
    for (const addrinfo* each = addresses; each != nullptr && found.empty(); each = each->ai_next)
      found = outward_text(each->ai_addr);
    ::freeaddrinfo(addresses);
  }
  if (found.empty()) found = outward_address();
  return found.empty() ? "127.0.0.1" : found;
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
