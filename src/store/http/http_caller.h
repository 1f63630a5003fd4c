#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "forebay/result.h"
#include "store/http/http_transport.h"

namespace forebay {

/// A call, however many attempts it takes.
struct HttpCall {
  using MadeRequest = std::function<void(Result<HttpRequest>)>;

  std::string name;  ///< name of the object, for messages
  /// Makes the request of one attempt (0, 1, ...), because signatures and credentials must be
  /// fresh. Answers once, before it returns or later. An error of kUnavailable fails the attempt;
  /// any other error ends the call.
  std::function<void(int attempt, MadeRequest made)> make;
  /// Judges an answer: OK, kUnavailable (the call is retried), or an error that ends the call.
  std::function<Status(const HttpResponse& response)> judge;
  bool hedge = false;  ///< may be sent a second time if the first is slow (reads)
};

/// Makes calls succeed on unreliable servers and links: retries with full jitter, Retry-After, a
/// budget of retries, and hedged requests for the slow tail. Whether an error is retried follows
/// from its code alone.
class HttpCaller {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;
  virtual ~HttpCaller() = default;
  virtual void call(HttpCall call, std::stop_token stop, Done done) = 0;
};

}  // namespace forebay
