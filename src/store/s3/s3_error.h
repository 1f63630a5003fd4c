#pragma once

#include <cstdint>
#include <string>

#include "forebay/status.h"
#include "store/http/http_transport.h"
#include "store/s3/s3_options.h"

namespace forebay {

/// What can be put right before the request is sent once more.
enum class S3Remedy : uint8_t { kNone, kRegion, kClock, kCredentials };

/// What an answer of the server means.
struct S3Verdict {
  Status status = {};
  S3Remedy remedy = S3Remedy::kNone;
  std::string region = {};  ///< of the bucket, for kRegion
};

/// What was asked, as messages need it.
struct S3Asked {
  const S3Options& options;
  std::string region;         ///< that the request was signed for
  bool object = true;         ///< of an object; else of the bucket
  bool signed_ = true;        ///< not anonymous
  bool without_body = false;  ///< HEAD: errors have no body
  bool write = false;
};

/// OK for 200 to 299 (and an <Error> in a 200's body is an error all the same where `asked.write`); else what is wrong and the
/// way out. 5xx, 429 and what S3 calls temporary are kUnavailable, but for 501 and 505.
S3Verdict judge_s3(const S3Asked& asked, const HttpResponse& response);

}  // namespace forebay
