#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "store/http/http_caller.h"
#include "store/s3/credentials.h"
#include "store/s3/s3_error.h"
#include "store/s3/s3_options.h"
#include "store/s3/signer.h"

namespace forebay {

/// One request to a bucket, before it is addressed and signed.
struct S3Request {
  std::string method = "GET";
  std::string key = {};  ///< empty: the bucket itself
  /// Name of what is requested, for messages; empty: the name of the key.
  std::string name = {};
  QueryParameters query = {};
  std::vector<HttpHeader> headers = {};
  Buffer body = {};
  uint64_t expected_body_bytes = 0;
  uint64_t max_body_bytes = 16 << 20;
  std::function<bool(uint64_t bytes)> try_raise_body_limit = {};  ///< HttpRequest::try_raise_body_limit
  bool hedge = false;
  std::vector<int> also = {};  ///< statuses that count as answers, not as errors
  /// Checks a successful answer as part of its attempt: kUnavailable is retried. Two attempts may
  /// call it at once.
  std::function<Status(const HttpResponse& response)> check = {};
};

/// Sends requests to one bucket: addresses and signs them, and corrects what it can: the bucket's
/// region, a wrong clock, expired credentials. Requests may be sent from any thread. The client
/// lives until its last request is answered.
class S3Client : public std::enable_shared_from_this<S3Client> {
 public:
  using Done = HttpCaller::Done;
  using Clock = std::function<WallTime()>;

  S3Client(S3Options options, std::shared_ptr<HttpCaller> caller, std::shared_ptr<CredentialsSource> credentials,
           std::shared_ptr<const HttpConnectionOptions> connection = nullptr,
           Clock clock = &std::chrono::system_clock::now);

  /// Sends a request; `done` is called once. A response has a status of 200 to 299, or one in
  /// S3Request::also. Everything else is an error, as judge_s3() says.
  void send(S3Request request, std::stop_token stop, Done done);
  /// Sends a request and waits for its answer. Must not be called on a thread that delivers
  /// answers.
  Result<HttpResponse> send_wait(S3Request request, std::stop_token stop);

  const S3Options& options() const { return options_; }
  /// "s3://bucket/key"
  std::string name(const std::string& key) const { return "s3://" + options_.bucket + "/" + key; }
  std::string region() const;

 private:
  struct Exchange;
  void start(const std::shared_ptr<Exchange>& exchange);
  Result<HttpRequest> make(Exchange& exchange, const Credentials& credentials);
  Status judge(Exchange& exchange, const HttpResponse& response);
  bool apply_remedy(Exchange& exchange);
  std::shared_ptr<const Signer> signer() const;

  const S3Options options_;
  const std::shared_ptr<HttpCaller> caller_;
  const std::shared_ptr<CredentialsSource> credentials_;
  const std::shared_ptr<const HttpConnectionOptions> connection_;
  const Clock clock_;
  mutable Mutex mutex_;
  std::string region_ FOREBAY_GUARDED_BY(mutex_);
  std::shared_ptr<const Signer> signer_ FOREBAY_GUARDED_BY(mutex_);
  std::chrono::seconds clock_offset_ FOREBAY_GUARDED_BY(mutex_){
      0};  ///< added to this host's clock, it gives the server's
};

}  // namespace forebay
