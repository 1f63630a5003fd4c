#include "store/http/curl_transport.h"

#include <utility>

#include "runtime/fork_guard.h"
#include "store/http/curl_loop.h"
#include "store/http/http_url.h"

namespace forebay {

namespace {

class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(const CurlTransportOptions& options) : loop_(std::make_shared<CurlLoop>(options)) {}

  ~CurlTransport() override {
    // After a fork the thread is not here, and its locks may be held forever.
    if (process_generation() != generation_) {
      new std::shared_ptr<CurlLoop>(std::move(loop_));
      return;
    }
    loop_->close();
  }

  void send(HttpRequest request, std::stop_token stop, Done done) override {
    if (process_generation() != generation_) {
      done(invalid_argument("this connection was made before a fork; open the data again in the new process"));
      return;
    }
    loop_->send(std::move(request), std::move(stop), std::move(done));
  }
  std::shared_ptr<ReclaimableMemory> idle_memory() const override { return loop_->idle_memory(); }

 private:
  const uint64_t generation_ = process_generation();
  std::shared_ptr<CurlLoop> loop_;
};

}  // namespace

std::shared_ptr<HttpTransport> curl_transport(CurlTransportOptions options) {
  return std::make_shared<CurlTransport>(options);
}

}  // namespace forebay
