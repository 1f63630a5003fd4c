#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cluster/token.h"
#include "cluster/transport.h"

namespace forebay {

struct HttpServerOptions {
  bool any_interface = false;  ///< whether "0.0.0.0" and "::" may be listened at
  int threads = 2;
  int most_connections = 512;
  std::chrono::milliseconds idle{60'000};     ///< a connection that asks nothing for so long is closed
  std::chrono::milliseconds patience{5'000};  ///< for a question that has begun, and for each answer to be taken
};

/// A server of HTTP/1.1 that knows one thing: POST kKeysPath with a question (message.h) gives its answer. Who does not show
/// `pass` gets 401 or 409 before a byte of its body is read, and is told nothing else; malformed questions get 400. The first of
/// each kind is logged, later ones are only counted.
///
/// InvalidArgument for an address that is not this host's, or all interfaces; Unavailable where the port is taken.
Result<std::unique_ptr<Listening>> http_server(const std::string& address, const JobPass& pass,
                                               std::shared_ptr<KeySource> keys, HttpServerOptions options = {});

inline constexpr const char* kKeysPath = "/forebay/keys";
inline constexpr const char* kGenerationHeader = "X-Forebay-Generation";

}  // namespace forebay
