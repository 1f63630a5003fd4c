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

/// InvalidArgument, with what was expected, for anything else.
Result<HostPort> parse_host_port(std::string_view text);

/// An address of this host that others may reach it by, as its name is looked up; of several the first that is not of the loopback. Where its name
/// gives no other (Debian's /etc/hosts says 127.0.1.1), outward_address(); "127.0.0.1" where there is none of these.
std::string own_host_address();
/// The IPv4 address that this host has on the way to others (its default route), else that of the first interface that is up, and never one of the
/// loopback; empty where there is none. Nothing is sent.
std::string outward_address();

/// Whether somebody listens there and takes a connection in that time.
bool somebody_listens(const HostPort& at, std::chrono::milliseconds patience);

/// "0.0.0.0", "::" and other ways to say all interfaces.
bool is_any_address(std::string_view host);

}  // namespace forebay
