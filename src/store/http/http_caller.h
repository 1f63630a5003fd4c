#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "forebay/result.h"
#include "store/http/http_transport.h"

namespace forebay {

/// What a caller wants done, however many attempts it takes.
struct HttpCall {
  using MadeRequest = std::function<void(Result<HttpRequest>)>;

  std::string name;  ///< of the object, in messages
  /// Makes the request of one attempt (0, 1, ...): signatures and credentials are of that moment. Answers once, at once or
  /// later; an error of kUnavailable is an attempt that failed, any other ends the call.
  std::function<void(int attempt, MadeRequest made)> make;
  /// What an answer means: OK, kUnavailable (is tried again), or an error that ends the call.
  std::function<Status(const HttpResponse& response)> judge;
  bool hedge = false;  ///< may be sent a second time while the first is slow (reads)
};

/// Makes calls succeed on servers and links that do not always: attempts with full jitter, Retry-After, a budget of retries, and
/// second requests for the slow tail. Which errors are tried again follows from the code alone.
class HttpCaller {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;
  virtual ~HttpCaller() = default;
  virtual void call(HttpCall call, std::stop_token stop, Done done) = 0;
};

}  // namespace forebay
