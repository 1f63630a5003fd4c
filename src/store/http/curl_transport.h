#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "store/http/http_transport.h"

namespace forebay {

struct CurlTransportOptions {
  /// Transfers at a time, and connections open. Fewer where the process may not open so many descriptors; the rest wait
  /// in the order they came.
  size_t max_connections = 1152;
  /// Memory kept for the next answers while nobody uses it.
  uint64_t idle_buffer_bytes = 16 << 20;
};

/// Transfers by libcurl on one thread, which starts with the first request. HTTP/1.1 with connections that are kept, HTTP/2
/// where TLS agrees on it, with as few connections as the server's limit of streams allows. Redirects are answers, not followed. Nothing
/// secret of a request gets into a message: of a URL only host and port.
std::shared_ptr<HttpTransport> curl_transport(CurlTransportOptions options = {});

/// The one of this process, made when it is first asked for and gone with its last user. The child of a fork gets its own.
std::shared_ptr<HttpTransport> shared_http_transport();

}  // namespace forebay
