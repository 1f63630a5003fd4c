#include "store/http/curl_transport.h"

#include <atomic>
#include <utility>

#include "base/mutex.h"
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

/// One for each process: a child must not touch a lock that may be held by a thread that was not
/// forked with it.
struct Shared {
  uint64_t generation;
  Mutex mutex;
  std::weak_ptr<HttpTransport> transport FOREBAY_GUARDED_BY(mutex);
};
std::atomic<Shared*> shared{nullptr};

Shared& shared_of_this_process() {
  Shared* current = shared.load(std::memory_order_acquire);
  while (current == nullptr || current->generation != process_generation()) {
    auto* fresh = new Shared{process_generation(), {}, {}};
    if (shared.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;
  }
  return *current;
}

}  // namespace

std::shared_ptr<HttpTransport> curl_transport(CurlTransportOptions options) {
  return std::make_shared<CurlTransport>(options);
}

std::shared_ptr<HttpTransport> shared_http_transport() {
  Shared& shared = shared_of_this_process();
  const Lock lock(shared.mutex);
  auto transport = shared.transport.lock();
  if (!transport) shared.transport = transport = curl_transport();
  return transport;
}

}  // namespace forebay
