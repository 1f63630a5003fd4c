#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// "host:port": a name, an IPv4 address, or an IPv6 address in brackets.
struct HostPort {
  std::string host;  ///< without brackets
  uint16_t port = 0;
  std::string to_string() const {
    const bool bare = host.find(':') == std::string::npos;
    return (bare ? host : "[" + host + "]") + ":" + std::to_string(port);
  }
};

/// Parses "host:port". Anything else is InvalidArgument; the message says what was expected.
Result<HostPort> parse_host_port(std::string_view text);

/// Returns an address by which other hosts may reach this one: the first IPv4 address outside the
/// loopback that this host's name resolves to. If the name has none (Debian's /etc/hosts says
/// 127.0.1.1) it is outward_address(), and "127.0.0.1" if that is empty, too.
std::string own_host_address();
/// Returns the IPv4 address that this host sends from on its default route. Without such a route it
/// is the address of the first interface that is up. Never returns a loopback address; empty if
/// there is no other. Sends nothing.
std::string outward_address();

/// Returns whether a server at `at` accepts a connection within `patience`.
bool accepts_connections(const HostPort& at, std::chrono::milliseconds patience);

/// Returns whether `host` means all interfaces: "0.0.0.0", "::" and other spellings.
bool is_any_address(std::string_view host);

}  // namespace forebay
