#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/http/http_transport.h"
#include "store/s3/credentials.h"
#include "store/sha256.h"

namespace forebay {

using WallTime = std::chrono::system_clock::time_point;

/// Names and values before encoding, in any order.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;

/// The parts of a request that a signature covers.
struct ToSign {
  std::string method = "GET";
  std::string host;        ///< as in the Host header: with the port unless it is the scheme's own
  std::string path = "/";  ///< percent-encoded, as it is sent
  QueryParameters query;
  std::vector<HttpHeader> headers;  ///< of the request; all are signed
  /// In hexadecimal; "UNSIGNED-PAYLOAD" if the body is not covered.
  std::string payload_hash;
};

/// Returns "a=1&b=" with encoded names and values, sorted: both signed and sent.
std::string canonical_query(const QueryParameters& query);

/// AWS Signature Version 4 for one region and service. Caches the key of the day. Methods may be
/// called from any thread.
class Signer {
 public:
  Signer(std::string region, std::string service) : region_(std::move(region)), service_(std::move(service)) {}

  /// Returns the headers to add: x-amz-date, x-amz-content-sha256 (S3 only), x-amz-security-token,
  /// authorization.
  std::vector<HttpHeader> sign(const ToSign& request, const Credentials& credentials, WallTime now) const;

  static std::string canonical_request(const ToSign& request, std::vector<HttpHeader> headers,
                                       std::string* signed_headers);

 private:
  Sha256 signing_key(const Credentials& credentials, std::string_view day) const;

  const std::string region_, service_;
  mutable Mutex mutex_;
  mutable std::string key_of_ FOREBAY_GUARDED_BY(mutex_);  ///< day and secret of `key_`
  mutable Sha256 key_ FOREBAY_GUARDED_BY(mutex_){};
};

/// Hash of an empty body.
inline constexpr std::string_view kEmptyPayloadHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

}  // namespace forebay
