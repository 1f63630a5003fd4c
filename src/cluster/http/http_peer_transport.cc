#include "cluster/http/http_peer_transport.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "cluster/deadlines.h"
#include "store/http/curl_transport.h"

namespace forebay {

namespace {

// Statuses that http_server() answers with.
constexpr int kUnauthorized = 401, kConflict = 409, kUpgradeRequired = 426;

Result<Buffer> judge_response(const std::string& host, Result<HttpResponse> response, bool late) {
  const std::string key = "peer " + host;
  if (!response.ok()) {
    const Status& failure = response.status();
    if (late && failure.code() == Code::kCancelled) return unavailable("no answer in time").with_key(key);
    if (failure.code() == Code::kInvalidArgument)  // about certificates
      return invalid_argument(failure.message()).with_key(key);
    if (failure.code() == Code::kUnsupported && failure.bytes_needed() > 0)
      return corrupt(failure.message()).with_key(key);
    return failure;
  }
  switch (response->status) {
    case 200: return std::move(response->body);
    case kUpgradeRequired:
      return invalid_argument("it asks for TLS, which this host was given no certificate for").with_key(key);
    case kUnauthorized:
      return invalid_argument(
                 "it does not take this host's token: give all hosts of the job the same FOREBAY_CLUSTER_TOKEN")
          .with_key(key);
    case kConflict:
      return invalid_argument(
                 "it belongs to another start of the job: one of the two has been restarted "
                 "(TORCHELASTIC_RESTART_COUNT differs)")
          .with_key(key);
    default: return invalid_argument(fmt::format("refused with {}", response->status)).with_key(key);
  }
}

HttpPeerOptions with_tls_served(HttpPeerOptions options) {
  options.server.tls = options.tls;
  return options;
}

class HttpPeers final : public Transport {
 public:
  explicit HttpPeers(HttpPeerOptions options)
      : options_(with_tls_served(std::move(options))),
        transport_(options_.transport ? options_.transport : curl_transport()) {}
  ~HttpPeers() override { deadlines_->close(); }

  Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                            Services services) override {
    return http_server(address, pass, std::move(services), options_.server);
  }

  void call(const PeerHost& host, std::string_view service, Buffer body, const CallLimits& limits, std::stop_token stop,
            Done done) override {
    auto pending = std::make_shared<PendingCall>();
    pending->host = host.address;
    pending->stop = stop;
    pending->done = std::move(done);
    deadlines_->add(pending->ended, limits.in_all);
    if (stop.stop_possible())
      pending->on_stop =
          std::make_unique<std::stop_callback<std::function<void()>>>(std::move(stop), [ended = pending->ended] {
            const auto owned = ended;  // the answers that this triggers may destroy this function
            owned->request_stop();
          });
    transport_->send(request_to(host, service, std::move(body), limits), pending->ended->get_token(),
                     [pending](Result<HttpResponse> response) {
                       // Both the caller's stop and the deadline request this stop; only the
                       // caller's is Cancelled.
                       const bool late = pending->ended->stop_requested() && !pending->stop.stop_requested();
                       Result<Buffer> judged = judge_response(pending->host, std::move(response), late);
                       const Done answer = std::exchange(pending->done, nullptr);
                       answer(std::move(judged));
                     });
  }

 private:
  struct PendingCall {
    std::string host;
    std::shared_ptr<std::stop_source> ended = std::make_shared<std::stop_source>();
    std::stop_token stop;  ///< the caller's; `ended` also follows the deadline
    std::unique_ptr<std::stop_callback<std::function<void()>>> on_stop;
    Done done;
  };

  HttpRequest request_to(const PeerHost& host, std::string_view service, Buffer body, const CallLimits& limits) {
    HttpRequest request;
    request.method = "POST";
    request.url = fmt::format("{}://{}{}{}", options_.tls ? "https" : "http", host.address, kServicePath, service);
    request.headers = {{"Authorization", "Bearer " + host.pass.token},
                       {kGenerationHeader, std::to_string(host.pass.generation)},
                       {"Content-Type", "application/octet-stream"}};
    request.body = std::move(body);
    request.max_body_bytes = limits.most_bytes;
    request.connection = connection(limits.silence);
    return request;
  }

  // Requests share connections only if they have the same options object, so there is one object
  // for each `silence`, of which there are few.
  std::shared_ptr<const HttpConnectionOptions> connection(std::chrono::milliseconds silence) {
    const int most = static_cast<int>(std::clamp<int64_t>(silence.count(), 1, 1 << 30));
    const Lock lock(mutex_);
    if (!connection_ || connection_->first_byte_timeout_ms != most) {
      auto made = std::make_shared<HttpConnectionOptions>();
      made->direct = true;
      // There are few transfers with long responses: this halves the system calls.
      made->receive_bytes = 64 << 10;
      if (options_.tls) made->mutual_tls = options_.tls->client_tls;
      made->connect_timeout_ms = std::min(most, static_cast<int>(options_.connect_timeout.count()));
      made->first_byte_timeout_ms = made->stall_timeout_ms = most;
      connection_ = std::move(made);
    }
    return connection_;
  }

  const HttpPeerOptions options_;
  Mutex mutex_;
  std::shared_ptr<const HttpConnectionOptions> connection_ FOREBAY_GUARDED_BY(mutex_);
  const std::shared_ptr<Deadlines> deadlines_ = std::make_shared<Deadlines>();
  const std::shared_ptr<HttpTransport> transport_;  // last: its end answers all calls in flight
};

}  // namespace

std::shared_ptr<Transport> http_peer_transport(HttpPeerOptions options) {
  return std::make_shared<HttpPeers>(std::move(options));
}

}  // namespace forebay
