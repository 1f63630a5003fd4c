#include <atomic>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "runtime/fork_guard.h"
#include "store/http/curl_transport.h"

namespace forebay {

namespace {

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

std::shared_ptr<HttpTransport> shared_http_transport() {
  Shared& own = shared_of_this_process();
  const Lock lock(own.mutex);
  auto transport = own.transport.lock();
  if (!transport) own.transport = transport = curl_transport();
  return transport;
}

}  // namespace forebay
