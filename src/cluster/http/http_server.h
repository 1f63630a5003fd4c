#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cluster/job_tls.h"
#include "cluster/token.h"
#include "cluster/transport.h"

namespace forebay {

struct HttpServerOptions {
  bool any_interface = false;  ///< whether "0.0.0.0" and "::" may be listened at
  int threads = 2;
  int most_connections = 512;
  std::chrono::milliseconds idle{60'000};  ///< a connection that asks nothing for so long is closed
  /// For a question that has begun, for each MiB of an answer to be taken, and for TLS to be agreed on.
  std::chrono::milliseconds patience{5'000};
  std::shared_ptr<const JobTls> tls = nullptr;  ///< null: none is spoken
};

/// A server of HTTP/1.1 that knows one thing: POST kKeysPath with a question (message.h) gives its answer. Who does not show
/// `pass` gets 401 or 409 before a byte of its body is read, and is told nothing else; malformed questions get 400. With TLS, who does
/// not show a certificate of the job gets an alert, and who speaks none 426. The first of each kind is logged, later ones are only counted.
///
/// InvalidArgument for an address that is not this host's, or all interfaces; Unavailable where the port is taken.
Result<std::unique_ptr<Listening>> http_server(const std::string& address, const JobPass& pass,
                                               std::shared_ptr<KeySource> keys, HttpServerOptions options = {});

inline constexpr const char* kKeysPath = "/forebay/keys";
inline constexpr const char* kGenerationHeader = "X-Forebay-Generation";

}  // namespace forebay
