#pragma once

#include <memory>

#include "cluster/http/http_server.h"
#include "cluster/transport.h"
#include "store/http/http_transport.h"

namespace forebay {

struct HttpPeerOptions {
  /// `tls` in it is ignored; the member below is used.
  HttpServerOptions server = {};
  std::shared_ptr<const JobTls> tls = nullptr;  ///< for both directions; null: plain HTTP
  std::chrono::milliseconds connect_timeout{1000};
  /// Null: the transport makes one of its own, with its own thread.
  std::shared_ptr<HttpTransport> transport = nullptr;
};

/// Returns a transport over HTTP/1.1. http_server() serves; libcurl calls, with one connection a
/// host for each request in flight. Proxies are not used. With TLS both sides present certificates:
/// a host without a certificate of the job, or without TLS, is Unavailable, with the reason.
std::shared_ptr<Transport> http_peer_transport(HttpPeerOptions options = {});

}  // namespace forebay
