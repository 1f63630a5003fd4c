#pragma once

#include <memory>

#include "cluster/http/http_server.h"
#include "cluster/transport.h"
#include "store/http/http_transport.h"

namespace forebay {

struct HttpPeerOptions {
  HttpServerOptions server = {};                ///< its `tls` is the next
  std::shared_ptr<const JobTls> tls = nullptr;  ///< of both sides; null: plain HTTP
  std::chrono::milliseconds connect_timeout{1000};
  std::shared_ptr<HttpTransport> transport = nullptr;  ///< null: one of its own, with a thread of its own
};

/// Calls over HTTP/1.1: http_server() serves, and libcurl calls, over as many connections a host as there
/// are requests in flight. Proxies are not used.
/// With TLS, hosts show each other certificates: who has none of the job, or speaks none, is Unavailable with the reason.
std::shared_ptr<Transport> http_peer_transport(HttpPeerOptions options = {});

}  // namespace forebay
