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
  bool any_interface = false;  ///< whether "0.0.0.0" and "::" may be listened at
  int threads = 2;
  int most_connections = 512;
  std::chrono::milliseconds idle{60'000};  ///< a connection that asks nothing for so long is closed
  /// For a request that has begun, for each MiB of a response to be taken, and for TLS to be agreed on.
  std::chrono::milliseconds patience{5'000};
  std::shared_ptr<const JobTls> tls = nullptr;  ///< null: none is spoken
};

/// Serves these services over HTTP/1.1: POST kServicePath + name with a request gives the response. A
/// caller that does not show `pass` gets 401 or 409 before a byte of its body is read, and is told nothing
/// else. An unknown service gets 404 and a malformed request 400. With TLS, a caller that does not show a
/// certificate of the job gets an alert, and one that speaks no TLS gets 426. The first refusal of each
/// kind is logged, later ones are only counted. Services are called from `threads` threads of the server,
/// which end with the object.
///
/// InvalidArgument for an address that is not this host's, or all interfaces; Unavailable where the port is taken.
Result<std::unique_ptr<Listening>> http_server(const std::string& address, const JobPass& pass, Services services,
                                               HttpServerOptions options = {});

inline constexpr std::string_view kServicePath = "/forebay/";
inline constexpr const char* kGenerationHeader = "X-Forebay-Generation";

}  // namespace forebay
