#include "format/files/stat_all.h"

#include <memory>

#include "base/cond_var.h"
#include "base/mutex.h"

namespace forebay {

namespace {
constexpr int64_t kInFlight = 64;

struct Progress {
  Mutex mutex;
  CondVar answered;
  int64_t in_flight FOREBAY_GUARDED_BY(mutex) = 0;
  Status error FOREBAY_GUARDED_BY(mutex);
};
}  // namespace

Status stat_all(Store& store, int64_t count, const std::function<std::string(int64_t)>& key, std::stop_token stop,
                const std::function<void(int64_t, const ObjectInfo*)>& on_info) {
  const auto progress = std::make_shared<Progress>();
  std::stop_source ended;
  const std::stop_callback pass_on(stop, [&ended] { ended.request_stop(); });
  Lock lock(progress->mutex);
  for (int64_t i = 0; i < count; ++i) {
    // Does not wait on the stop token: the store has it, and answers every request.
    progress->answered.wait(lock, [&]() FOREBAY_REQUIRES(progress->mutex) {
      return progress->in_flight < kInFlight || !progress->error.ok();
    });
    if (!progress->error.ok()) break;
    ++progress->in_flight;
    // A store may answer before stat() returns, and the answer takes the lock.
    lock.unlock();
    store.stat(key(i), ended.get_token(), [progress, i, &on_info](Result<ObjectInfo> info) {
      const Lock in_answer(progress->mutex);
      if (info.ok())
        on_info(i, &*info);
      else if (info.status().code() == Code::kNotFound)
        on_info(i, nullptr);
      else if (progress->error.ok())
        progress->error = info.status();
      --progress->in_flight;
      progress->answered.notify_all();
    });
    lock.lock();
  }
  progress->answered.wait(
      lock, [&]() FOREBAY_REQUIRES(progress->mutex) { return progress->in_flight == 0 || !progress->error.ok(); });
  // The other answers are no longer needed. The lock is released, because a store may answer
  // stopped requests at once.
  lock.unlock();
  ended.request_stop();
  lock.lock();
  progress->answered.wait(lock, [&]() FOREBAY_REQUIRES(progress->mutex) { return progress->in_flight == 0; });
  return progress->error;
}

std::string nearest_folder(Store& store, const std::string& key) {
  std::string folder = key;
  while (true) {
    // Only one, because a bucket may have folders with empty names.
    if (folder.ends_with('/')) folder.pop_back();
    const size_t slash = folder.rfind('/');
    folder.resize(slash == std::string::npos ? 0 : slash + 1);
    ListRequest request;
    request.prefix = folder;
    request.max_keys = 1;
    if (folder.empty() || folder == "/" || list_wait(store, request, {}).ok()) {
      const std::string shown = store.display_name(folder);
      return shown.empty() ? "." : shown;
    }
  }
}

}  // namespace forebay
