#include "store/s3/s3_client.h"

#include <algorithm>
#include <ctime>
#include <optional>

#include <fmt/format.h>

#include "base/cond_var.h"
#include "store/http/http_date.h"
#include "store/s3/s3_address.h"

namespace forebay {

namespace {

constexpr const char* kFirstRegion = "us-east-1";  // AWS answers there for buckets of all regions

std::string readable(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

/// The state of a request. Two attempts at once (hedging) share it, hence the lock.
struct S3Client::Exchange {
  S3Request request;
  std::string payload_hash;
  std::stop_token stop;
  Done done;

  Mutex mutex;
  std::string region FOREBAY_GUARDED_BY(mutex);       // of the last attempt
  Credentials credentials FOREBAY_GUARDED_BY(mutex);  // of the last attempt
  S3Remedy remedy FOREBAY_GUARDED_BY(mutex) = S3Remedy::kNone;
  std::string other_region FOREBAY_GUARDED_BY(mutex);
  std::optional<std::chrono::seconds> clock_offset FOREBAY_GUARDED_BY(mutex);
  unsigned tried FOREBAY_GUARDED_BY(mutex) = 0;  // remedies tried, as bits

  S3RequestInfo asked(const S3Options& options) const FOREBAY_REQUIRES(mutex) {
    S3RequestInfo asked{options, region};
    asked.object = !request.key.empty();
    asked.signed_ = !credentials.anonymous();
    asked.without_body = request.method == "HEAD";
    asked.write = request.method != "GET" && request.method != "HEAD";
    return asked;
  }
};

S3Client::S3Client(S3Options options, std::shared_ptr<HttpCaller> caller,
                   std::shared_ptr<CredentialsSource> credentials,
                   std::shared_ptr<const HttpConnectionOptions> connection, Clock clock)
    : options_(std::move(options)), caller_(std::move(caller)), credentials_(std::move(credentials)),
      connection_(std::move(connection)), clock_(std::move(clock)),
      region_(options_.region.empty() ? kFirstRegion : options_.region),
      signer_(std::make_shared<const Signer>(region_, "s3")) {}

std::string S3Client::region() const {
  const Lock lock(mutex_);
  return region_;
}

void S3Client::send(S3Request request, std::stop_token stop, Done done) {
  auto exchange = std::make_shared<Exchange>();
  exchange->payload_hash = request.body.empty() ? std::string(kEmptyPayloadHash) : hex(sha256(request.body.span()));
  exchange->request = std::move(request);
  exchange->stop = std::move(stop);
  exchange->done = std::move(done);
  start(exchange);
}

Result<HttpResponse> S3Client::send_wait(S3Request request, std::stop_token stop) {
  struct Waiter {
    Mutex mutex;
    CondVar arrived;
    std::optional<Result<HttpResponse>> response FOREBAY_GUARDED_BY(mutex);
  };
  auto waiter = std::make_shared<Waiter>();
  send(std::move(request), std::move(stop), [waiter](Result<HttpResponse> response) {
    const Lock lock(waiter->mutex);
    waiter->response.emplace(std::move(response));
    waiter->arrived.notify_one();
  });
  Lock lock(waiter->mutex);
  waiter->arrived.wait(lock, [&]() FOREBAY_REQUIRES(waiter->mutex) { return waiter->response.has_value(); });
  return std::move(*waiter->response);
}

void S3Client::start(const std::shared_ptr<Exchange>& exchange) {
  HttpCall call;
  call.name = exchange->request.name.empty() ? name(exchange->request.key) : exchange->request.name;
  call.hedge = exchange->request.hedge;
  call.make = [self = shared_from_this(), exchange](int, HttpCall::MadeRequest made) {
    self->credentials_->get([self, exchange, made = std::move(made)](Result<Credentials> credentials) {
      made(credentials.ok() ? self->make(*exchange, *credentials) : Result<HttpRequest>(credentials.status()));
    });
  };
  call.judge = [self = shared_from_this(), exchange](const HttpResponse& response) {
    return self->judge(*exchange, response);
  };
  caller_->call(std::move(call), exchange->stop, [self = shared_from_this(), exchange](Result<HttpResponse> response) {
    if (response.ok()) return exchange->done(std::move(response));
    // A new call with attempts of its own, because a corrected request was not a failure of the
    // storage.
    if (self->apply_remedy(*exchange)) return self->start(exchange);
    exchange->done(response.status());
  });
}

// Called for each attempt, because servers refuse signatures that are more than 15 minutes old.
Result<HttpRequest> S3Client::make(Exchange& exchange, const Credentials& credentials) {
  std::shared_ptr<const Signer> signer;
  std::string region;
  WallTime now = clock_();
  {
    const Lock lock(mutex_);
    signer = signer_;
    region = region_;
    now += clock_offset_;
  }
  const S3Request& asked = exchange.request;
  S3Address address = s3_address(options_, region, asked.key);
  HttpRequest request;
  request.method = asked.method;
  request.url = address.origin + address.path;
  if (!asked.query.empty()) request.url += "?" + canonical_query(asked.query);
  request.headers.reserve(asked.headers.size() + 4);  // for those of the signature
  request.headers = asked.headers;
  if (options_.requester_pays) request.headers.push_back({"x-amz-request-payer", "requester"});
  request.body = asked.body;
  request.expected_body_bytes = asked.expected_body_bytes;
  request.max_body_bytes = asked.max_body_bytes;
  request.try_raise_body_limit = asked.try_raise_body_limit;
  request.connection = connection_;
  if (!credentials.anonymous()) {
    const ToSign to_sign{asked.method, std::move(address.host), std::move(address.path),
                         asked.query,  request.headers,         exchange.payload_hash};
    for (HttpHeader& header : signer->sign(to_sign, credentials, now)) request.headers.push_back(std::move(header));
  }
  const Lock lock(exchange.mutex);
  exchange.region = std::move(region);
  exchange.credentials = credentials;
  return request;
}

Status S3Client::judge(Exchange& exchange, const HttpResponse& response) {
  const Lock lock(exchange.mutex);
  if (std::ranges::find(exchange.request.also, response.status) != exchange.request.also.end()) return {};
  S3Verdict verdict = judge_s3(exchange.asked(options_), response);
  // The remedy is that of the attempt judged last. All attempts of an exchange meet the same
  // obstacle, so it does not matter which.
  exchange.remedy = verdict.remedy;
  exchange.other_region = std::move(verdict.region);
  if (verdict.status.ok()) return exchange.request.check ? exchange.request.check(response) : Status();
  if (verdict.remedy != S3Remedy::kClock) return std::move(verdict.status);
  const std::optional<WallTime> theirs = parse_http_date(response.header("date"));
  const WallTime ours = clock_();
  exchange.clock_offset.reset();
  if (theirs) exchange.clock_offset = std::chrono::duration_cast<std::chrono::seconds>(*theirs - ours);
  return invalid_argument(fmt::format("{}: this machine's clock says {}, the server's {}; set the clock right (NTP)",
                                      verdict.status.message(), readable(ours),
                                      theirs ? readable(*theirs) : "nothing"));
}

/// Applies the remedy of the last answer, if there is one and it was not tried before. Returns true
/// if another attempt may succeed.
bool S3Client::apply_remedy(Exchange& exchange) {
  // Lock order: the exchange's, then the client's.
  const Lock exchange_lock(exchange.mutex);
  const S3Remedy remedy = std::exchange(exchange.remedy, S3Remedy::kNone);
  const unsigned bit = 1u << static_cast<unsigned>(remedy);
  if (remedy == S3Remedy::kNone || (exchange.tried & bit) != 0) return false;
  exchange.tried |= bit;
  if (remedy == S3Remedy::kCredentials) {
    credentials_->refuse(exchange.credentials);
    return true;
  }
  const Lock lock(mutex_);
  if (remedy == S3Remedy::kClock) {
    if (!exchange.clock_offset) return false;
    clock_offset_ = *exchange.clock_offset;
  } else if (region_ != exchange.other_region) {
    region_ = exchange.other_region;
    signer_ = std::make_shared<const Signer>(region_, "s3");
  }
  return true;
}

}  // namespace forebay
