#pragma once

#include <cstdint>
#include <string>

#include "forebay/status.h"
#include "store/http/http_transport.h"
#include "store/s3/s3_options.h"

namespace forebay {

/// A problem that the client can correct before it sends the request once more.
enum class S3Remedy : uint8_t { kNone, kRegion, kClock, kCredentials };

/// Meaning of a server's answer.
struct S3Verdict {
  Status status = {};
  S3Remedy remedy = S3Remedy::kNone;
  std::string region = {};  ///< of the bucket, for kRegion
};

/// The request, as far as messages need it.
struct S3RequestInfo {
  const S3Options& options;
  std::string region;  ///< that the request was signed for
  /// About an object; false: about the bucket.
  bool object = true;
  bool signed_ = true;        ///< not anonymous
  bool without_body = false;  ///< HEAD: errors have no body
  bool write = false;
};

/// Judges an answer. 200 to 299 are OK, except a 200 with an <Error> in its body if `asked.write`.
/// Other statuses are errors with a remedy. 5xx, 429 and temporary errors of S3 are kUnavailable,
/// except 501 and 505.
S3Verdict judge_s3(const S3RequestInfo& asked, const HttpResponse& response);

}  // namespace forebay
