#include "store/s3/s3_together.h"

#include <memory>

#include "base/cond_var.h"
#include "base/mutex.h"

namespace forebay {

namespace {

/// Shared, because answers may come after the caller has stopped waiting.
struct Together {
  Mutex mutex;
  CondVar changed;
  size_t in_flight FOREBAY_GUARDED_BY(mutex) = 0;
  Status failed FOREBAY_GUARDED_BY(mutex);
};

}  // namespace

Status send_together(S3Client& client, const S3Requests& requests, std::stop_token stop) {
  const auto together = std::make_shared<Together>();
  std::stop_source all;
  const std::stop_callback with_the_caller(stop, [&all] { all.request_stop(); });
  for (size_t number = 0; number < requests.count; ++number) {
    {
      Lock lock(together->mutex);
      together->changed.wait(lock, [&]() FOREBAY_REQUIRES(together->mutex) {
        return together->in_flight < requests.at_once || !together->failed.ok();
      });
      if (!together->failed.ok()) break;
      ++together->in_flight;
    }
    client.send(requests.make(number), all.get_token(), [together, &requests, number](Result<HttpResponse> answer) {
      const Lock lock(together->mutex);
      // Called under the lock, so that `take` is called by one thread at a time.
      Status taken = requests.take(number, std::move(answer));
      if (together->failed.ok()) together->failed = std::move(taken);
      --together->in_flight;
      together->changed.notify_all();
    });
  }
  Lock lock(together->mutex);
  together->changed.wait(
      lock, [&]() FOREBAY_REQUIRES(together->mutex) { return together->in_flight == 0 || !together->failed.ok(); });
  if (!together->failed.ok()) {
    // Stopped requests answer at once, on this thread.
    lock.unlock();
    all.request_stop();
    lock.lock();
  }
  together->changed.wait(lock, [&]() FOREBAY_REQUIRES(together->mutex) { return together->in_flight == 0; });
  return together->failed;
}

}  // namespace forebay
