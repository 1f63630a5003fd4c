#include "cluster/http/http_peer_transport.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "cluster/deadlines.h"
#include "store/http/curl_transport.h"

namespace forebay {

namespace {

constexpr int kUnauthorized = 401, kConflict = 409, kUpgradeRequired = 426;  // as the server of peers means them

Result<std::vector<AnsweredKey>> judge_answer(const std::string& host, std::span<const WantedKey> wanted,
                                              const Result<HttpResponse>& response, bool late) {
  if (!response.ok()) {
    if (late && response.status().code() == Code::kCancelled)
      return unavailable("no answer in time").with_key("peer " + host);
    if (response.status().code() == Code::kInvalidArgument)  // of certificates
      return invalid_argument(response.status().message()).with_key("peer " + host);
    return response.status();
  }
  if (response->status == kUpgradeRequired)
    return invalid_argument("it asks for TLS, which this host was given no certificate for").with_key("peer " + host);
  if (response->status == kUnauthorized)
    return invalid_argument(
               "it does not take this host's token: give all hosts of the job the same FOREBAY_CLUSTER_TOKEN")
        .with_key("peer " + host);
  if (response->status == kConflict)
    return invalid_argument(
               "it belongs to another start of the job: one of the two has been restarted (TORCHELASTIC_RESTART_COUNT "
               "differs)")
        .with_key("peer " + host);
  if (response->status != 200)
    return invalid_argument(fmt::format("refused with {}", response->status)).with_key("peer " + host);
  Result<std::vector<AnsweredKey>> answers = parse_answer(wanted, response->body);
  if (!answers.ok()) return answers.status().with_key("peer " + host);
  return answers;
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
                                            std::shared_ptr<KeySource> keys) override {
    return http_server(address, pass, std::move(keys), options_.server);
  }

  void fetch(const PeerHost& host, std::vector<WantedKey> wanted, AnswerLimits limits, std::stop_token stop,
             Done done) override {
    struct Asking {
      std::string host;
      std::vector<WantedKey> wanted;
      std::shared_ptr<std::stop_source> late = std::make_shared<std::stop_source>();
      std::stop_token stop;
      std::unique_ptr<std::stop_callback<std::function<void()>>> on_stop;
      Done done;
    };
    auto asking = std::make_shared<Asking>();
    asking->host = host.address;
    asking->wanted = std::move(wanted);
    asking->stop = stop;
    asking->done = std::move(done);
    HttpRequest request;
    request.method = "POST";
    request.url = fmt::format("{}://{}{}", options_.tls ? "https" : "http", host.address, kKeysPath);
    request.headers = {{"Authorization", "Bearer " + host.pass.token},
                       {kGenerationHeader, std::to_string(host.pass.generation)},
                       {"Content-Type", "application/octet-stream"}};
    request.body = encode_question(asking->wanted);
    request.max_body_bytes = most_answer_bytes(asking->wanted);
    request.connection = connection(limits.silence);
    deadlines_->add(asking->late, limits.in_all);
    if (stop.stop_possible())
      asking->on_stop =
          std::make_unique<std::stop_callback<std::function<void()>>>(std::move(stop), [late = asking->late] {
            const auto kept = late;  // what it answers may end this very function
            kept->request_stop();
          });
    transport_->send(std::move(request), asking->late->get_token(), [asking](Result<HttpResponse> response) {
      // Both end the transfer by the same token; only the caller's own stop is Cancelled.
      const bool late = asking->late->stop_requested() && !asking->stop.stop_requested();
      Result<std::vector<AnsweredKey>> answers = judge_answer(asking->host, asking->wanted, response, late);
      const Done answer = std::exchange(asking->done, nullptr);
      answer(std::move(answers));
    });
  }

 private:
  // Requests with the same object share connections, so there is one for each `silence`, of which there are few.
  std::shared_ptr<const HttpConnectionOptions> connection(std::chrono::milliseconds silence) {
    const int most = static_cast<int>(std::clamp<int64_t>(silence.count(), 1, 1 << 30));
    const std::lock_guard lock(mutex_);
    if (!connection_ || connection_->first_byte_timeout_ms != most) {
      auto made = std::make_shared<HttpConnectionOptions>();
      made->direct = true;
      made->receive_bytes = 64 << 10;  // few transfers with long answers: half as many ways into the kernel
      if (options_.tls) made->mutual_tls = options_.tls->asking;
      made->connect_timeout_ms = std::min(most, static_cast<int>(options_.connect_timeout.count()));
      made->first_byte_timeout_ms = made->stall_timeout_ms = most;
      connection_ = std::move(made);
    }
    return connection_;
  }

  const HttpPeerOptions options_;
  std::mutex mutex_;
  std::shared_ptr<const HttpConnectionOptions> connection_;
  const std::shared_ptr<Deadlines> deadlines_ = std::make_shared<Deadlines>();
  const std::shared_ptr<HttpTransport> transport_;  // last: its end answers what is under way
};

}  // namespace

std::shared_ptr<Transport> http_peer_transport(HttpPeerOptions options) {
  return std::make_shared<HttpPeers>(std::move(options));
}

}  // namespace forebay
