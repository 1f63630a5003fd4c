#pragma once

#include <memory>

#include "cluster/http/http_server.h"
#include "cluster/transport.h"
#include "store/http/http_transport.h"

namespace forebay {

struct HttpPeerOptions {
  HttpServerOptions server;
  std::chrono::milliseconds connect_timeout{1000};
  std::shared_ptr<HttpTransport> transport = nullptr;  ///< null: one of its own, with a thread of its own
};

/// Peers by HTTP/1.1: http_server() serves, and libcurl asks, over as many connections a host as there are requests in flight. Proxies are not used.
std::shared_ptr<Transport> http_peer_transport(HttpPeerOptions options = {});

}  // namespace forebay
