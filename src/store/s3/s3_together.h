#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "forebay/result.h"
#include "store/s3/s3_client.h"

namespace forebay {

/// Some requests of one kind.
struct S3Requests {
  size_t count = 0;
  size_t at_once = 64;
  std::function<S3Request(size_t number)> make = {};  ///< on the thread that waits, in their order
  /// One call at a time, from any thread and in any order. What it says is wrong ends all of them.
  std::function<Status(size_t number, Result<HttpResponse> answer)> take = {};
};

/// Sends them, so many at a time, and waits until all that were sent have answered. The first error. Never on a thread that answers.
Status send_together(S3Client& client, const S3Requests& requests, std::stop_token stop);

}  // namespace forebay
