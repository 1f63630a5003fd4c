#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/reclaimable_memory.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

struct HttpHeader {
  std::string name;
  std::string value;
};

/// Certificates of this host and of the authorities it trusts, in PEM. Names of hosts are not
/// compared, so any certificate that `authorities` have signed is trusted.
struct MutualTls {
  std::string certificate;  ///< this host's, followed by intermediate certificates
  std::string key;          ///< the certificate's key, without a password
  std::string authorities;
};

/// How servers are connected. Requests with the same options object share connections.
struct HttpConnectionOptions {
  /// File or folder of trusted authorities; empty: SSL_CERT_FILE, SSL_CERT_DIR, the system's.
  std::string ca_file;
  bool verify = true;  ///< false: any certificate is trusted
  /// Replaces both.
  std::shared_ptr<const MutualTls> mutual_tls = nullptr;
  /// Empty: http_proxy, https_proxy, all_proxy, no_proxy.
  std::string proxy;
  /// Uses no proxy, whatever `proxy` and the environment say.
  bool direct = false;
  int connect_timeout_ms = 10'000;  ///< for name, connection and TLS together
  /// From the end of the request to the first byte of the answer.
  int first_byte_timeout_ms = 20'000;
  int stall_timeout_ms = 20'000;  ///< longest time without a byte
  /// Most bytes read from a connection at a time, and so memory of each transfer.
  uint32_t receive_bytes = 32 << 10;
};

/// Is notified of the progress of one request, on the transport's thread. Must not block.
class HttpObserver {
 public:
  virtual ~HttpObserver() = default;
  virtual void on_started() {}  ///< the request has left the queue for a connection
  virtual void on_timeout() {}  ///< before the answer, if the error is a timeout
};

/// One request as it is sent.
struct HttpRequest {
  std::string method = "GET";
  std::string url;  ///< absolute and percent-encoded; sent unchanged
  std::vector<HttpHeader> headers;
  Buffer body;  ///< of PUT and POST
  /// Expected size of the answer, allocated at once; 0 if it is not known.
  uint64_t expected_body_bytes = 0;
  /// A longer answer is refused before memory is allocated for it.
  uint64_t max_body_bytes = 64u << 20;
  /// Called before a successful answer is refused as too long. Raises the limit to `bytes`, and
  /// returns whether that was possible. Null: the limit is final.
  std::function<bool(uint64_t bytes)> try_raise_body_limit = {};
  /// Null: the defaults.
  std::shared_ptr<const HttpConnectionOptions> connection;
  /// Time from the start to the answer's first byte, whatever the phase; 0: as `connection` says.
  int first_byte_within_ms = 0;
  std::shared_ptr<HttpObserver> observer;
};

/// The answer to an HttpRequest.
struct HttpResponse {
  int status = 0;
  std::vector<HttpHeader> headers;  ///< names in lower case
  Buffer body;                      ///< complete: one shorter than announced is kUnavailable
  int major_version = 0;            ///< of HTTP: 1 or 2

  /// Returns the first header of that (lower-case) name; empty if there is none.
  std::string_view header(std::string_view name) const;
};

/// Sends single requests. It does not retry or sign, and does not judge statuses (404 is an answer,
/// not an error).
///
/// All transfers of a transport run on one thread of its own. Every call answers exactly once, even
/// after a stop was requested (kCancelled), and before the destructor ends. The answer must not
/// block. Methods may be called from any thread.
class HttpTransport {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;
  virtual ~HttpTransport() = default;
  virtual void send(HttpRequest request, std::stop_token stop, Done done) = 0;
  /// Returns the idle memory retained for later answers; null if there is none.
  virtual std::shared_ptr<ReclaimableMemory> idle_memory() const { return nullptr; }
};

}  // namespace forebay
