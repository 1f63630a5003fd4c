#include "store/store.h"

#include <algorithm>
#include <memory>

#include "base/cond_var.h"
#include "base/hash.h"
#include "base/mutex.h"

namespace forebay {

namespace {

template <typename T>
struct Waiter {
  Mutex mutex;
  CondVar arrived;
  std::optional<Result<T>> result FOREBAY_GUARDED_BY(mutex);
};

/// Starts a call and waits for its answer, which every store gives, even after a stop.
template <typename T, typename Start>
Result<T> wait_for(Start&& start) {
  // Shared, because the answering thread may still be releasing the lock when the waiting one has
  // returned.
  auto waiter = std::make_shared<Waiter<T>>();
  start([waiter](Result<T> result) {
    const Lock lock(waiter->mutex);
    waiter->result.emplace(std::move(result));
    waiter->arrived.notify_one();
  });
  Lock lock(waiter->mutex);
  waiter->arrived.wait(lock, [&]() FOREBAY_REQUIRES(waiter->mutex) { return waiter->result.has_value(); });
  return std::move(*waiter->result);
}

}  // namespace

Result<Buffer> read_wait(Store& store, const ReadRequest& request, std::stop_token stop) {
  return wait_for<Buffer>([&](Store::ReadDone done) { store.read(request, stop, std::move(done)); });
}

Result<ListPage> list_wait(Store& store, const ListRequest& request, std::stop_token stop) {
  return wait_for<ListPage>([&](Store::ListDone done) { store.list(request, stop, std::move(done)); });
}

Result<ObjectInfo> stat_wait(Store& store, const std::string& key, std::stop_token stop) {
  return wait_for<ObjectInfo>([&](Store::StatDone done) { store.stat(key, stop, std::move(done)); });
}

uint64_t version_of_etag(std::string_view etag) {
  // A weak ETag (RFC 9110, section 8.8.1) may stay the same when bytes change.
  if (etag.starts_with("W/")) return 0;
  // Listings and headers quote ETags differently.
  while (etag.starts_with('"')) etag.remove_prefix(1);
  while (etag.ends_with('"')) etag.remove_suffix(1);
  return etag.empty() ? 0 : std::max<uint64_t>(hash128(etag).low, 1);
}

}  // namespace forebay
