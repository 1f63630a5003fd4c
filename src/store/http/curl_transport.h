#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "store/http/http_transport.h"

namespace forebay {

struct CurlTransportOptions {
  /// Limit of transfers at a time, and of open connections. It is lower if the process may not open
  /// so many descriptors. Further transfers wait, first come, first served.
  size_t max_connections = 1152;
  /// Limit of idle memory that is retained for later answers.
  uint64_t idle_buffer_bytes = 16 << 20;
};

/// Makes a transport that runs all transfers by libcurl on one thread, which starts with the first
/// request. It reuses HTTP/1.1 connections, and uses HTTP/2 if TLS negotiates it, with as few
/// connections as the server's limit of streams allows. It does not follow redirects: they are
/// answers. No message contains secrets of a request; of a URL it has only host and port.
std::shared_ptr<HttpTransport> curl_transport(CurlTransportOptions options = {});

/// Returns the transport that the process shares. It is made at the first call and destroyed with
/// its last user. The child of a fork gets its own.
std::shared_ptr<HttpTransport> shared_http_transport();

}  // namespace forebay
