#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "forebay/result.h"
#include "store/s3/s3_client.h"

namespace forebay {

/// Several requests of one kind.
struct S3Requests {
  size_t count = 0;
  size_t at_once = 64;
  /// Called on the waiting thread, in the order of numbers.
  std::function<S3Request(size_t number)> make = {};
  /// Takes an answer. Called one at a time, from any thread and in any order. An error ends all
  /// requests.
  std::function<Status(size_t number, Result<HttpResponse> answer)> take = {};
};

/// Sends the requests, at most `at_once` at a time, and waits until all that were sent are
/// answered. Returns the first error. Must not be called on a thread that delivers answers.
Status send_together(S3Client& client, const S3Requests& requests, std::stop_token stop);

}  // namespace forebay
