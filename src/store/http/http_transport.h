#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/kept_bytes.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

struct HttpHeader {
  std::string name;
  std::string value;
};

/// Who we are to servers, and who alone vouches for them: PEM. Names of hosts are not compared, so whatever `authorities` have signed is trusted.
struct MutualTls {
  std::string certificate;  ///< ours, with those between it and its authority
  std::string key;          ///< its key, without a password
  std::string authorities;
};

/// How servers are reached. Requests with the same object share connections.
struct HttpConnectionOptions {
  std::string ca_file;  ///< authorities to trust, a file or a folder; empty: SSL_CERT_FILE, SSL_CERT_DIR, the system's
  bool verify = true;   ///< false trusts anybody
  std::shared_ptr<const MutualTls> mutual_tls = nullptr;  ///< in place of both
  std::string proxy;                                      ///< empty: http_proxy, https_proxy, all_proxy, no_proxy
  bool direct = false;                                    ///< no proxy, whatever `proxy` and the environment say
  int connect_timeout_ms = 10'000;                        ///< name, connection and TLS together
  int first_byte_timeout_ms = 20'000;                     ///< from the end of the request to the answer's first byte
  int stall_timeout_ms = 20'000;                          ///< without a byte
  uint32_t receive_bytes = 32 << 10;  ///< taken from a connection at a time; memory of each transfer
};

/// Hears how one request goes, on the transport's thread; must not block.
class HttpObserver {
 public:
  virtual ~HttpObserver() = default;
  virtual void on_started() {}  ///< it has left the queue for a connection
  virtual void on_timeout() {}  ///< before the answer: the error is one of waiting too long
};

/// One request as it goes over the wire.
struct HttpRequest {
  std::string method = "GET";
  std::string url;  ///< absolute and percent-encoded; sent as it is
  std::vector<HttpHeader> headers;
  Buffer body;                          ///< of PUT and POST
  uint64_t expected_body_bytes = 0;     ///< of the answer: memory taken at once; 0 where it is not known
  uint64_t max_body_bytes = 64u << 20;  ///< a longer answer is refused before its memory is taken
  /// Asked before it is refused, where the answer is a success: whether it may have so many bytes. Null: it may not.
  std::function<bool(uint64_t bytes)> may_have = {};
  std::shared_ptr<const HttpConnectionOptions> connection;  ///< null: the defaults
  int first_byte_within_ms = 0;  ///< after the start, whatever phase it is in by then; 0: as `connection` says
  std::shared_ptr<HttpObserver> observer;
};

struct HttpResponse {
  int status = 0;
  std::vector<HttpHeader> headers;  ///< names in lower case
  Buffer body;                      ///< whole: a shorter one than announced is kUnavailable
  int major_version = 0;            ///< of HTTP: 1 or 2

  /// The first header of that (lower-case) name; empty where there is none.
  std::string_view header(std::string_view name) const;
};

/// Carries single requests: no retries, no signatures, no opinion of status codes (404 is an answer, not an error).
///
/// All transfers of a transport run on one thread of its own. Every call answers exactly once, also after a stop was
/// requested (kCancelled) and before the destructor ends; the answer must not block. Any thread may send.
class HttpTransport {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;
  virtual ~HttpTransport() = default;
  virtual void send(HttpRequest request, std::stop_token stop, Done done) = 0;
  /// What it keeps for later answers; null where it keeps nothing.
  virtual std::shared_ptr<KeptBytes> idle_memory() const { return nullptr; }
};

}  // namespace forebay
