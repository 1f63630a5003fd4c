#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "cluster/job_tls.h"
#include "cluster/token.h"
#include "cluster/transport.h"

namespace forebay {

struct HttpServerOptions {
  bool any_interface = false;  ///< whether the address may be "0.0.0.0" or "::"
  int threads = 2;
  int most_connections = 512;
  /// A connection without requests is closed after this time.
  std::chrono::milliseconds idle{60'000};
  /// Time limit for a request that has begun, for each MiB of a response to be sent, and for the
  /// TLS handshake.
  std::chrono::milliseconds patience{5'000};
  std::shared_ptr<const JobTls> tls = nullptr;  ///< null: plain HTTP
};

/// Serves `services` over HTTP/1.1: POST kServicePath + name with a request returns the response. A
/// caller that does not present `pass` gets 401 or 409 before any byte of its body is read, and no
/// other information. An unknown service gets 404 and a malformed request 400. With TLS, a caller
/// without a certificate of the job gets an alert, and one that does not speak TLS gets 426. The
/// first refusal of each kind is logged; later ones are only counted. The server calls services
/// from `threads` threads of its own, which end with the object.
///
/// Errors: InvalidArgument if the address is not this host's, or means all interfaces without
/// `any_interface`; Unavailable if the port is taken.
Result<std::unique_ptr<Listening>> http_server(const std::string& address, const JobPass& pass, Services services,
                                               HttpServerOptions options = {});

inline constexpr std::string_view kServicePath = "/forebay/";
inline constexpr const char* kGenerationHeader = "X-Forebay-Generation";

}  // namespace forebay
