#include "store/s3/s3_together.h"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace forebay {

namespace {

/// Shared, because answers may come after the caller has stopped waiting.
struct Together {
  std::mutex mutex;
  std::condition_variable changed;
  size_t in_flight = 0;
  Status failed;
};

}  // namespace

Status send_together(S3Client& client, const S3Requests& requests, std::stop_token stop) {
  const auto together = std::make_shared<Together>();
  std::stop_source all;
  const std::stop_callback with_the_caller(stop, [&all] { all.request_stop(); });
  for (size_t number = 0; number < requests.count; ++number) {
    {
      std::unique_lock lock(together->mutex);
      together->changed.wait(lock, [&] { return together->in_flight < requests.at_once || !together->failed.ok(); });
      if (!together->failed.ok()) break;
      ++together->in_flight;
    }
    client.send(requests.make(number), all.get_token(), [together, &requests, number](Result<HttpResponse> answer) {
      const std::lock_guard lock(together->mutex);
      // Called under the lock, so that `take` is called by one thread at a time.
      Status taken = requests.take(number, std::move(answer));
      if (together->failed.ok()) together->failed = std::move(taken);
      --together->in_flight;
      together->changed.notify_all();
    });
  }
  std::unique_lock lock(together->mutex);
  together->changed.wait(lock, [&] { return together->in_flight == 0 || !together->failed.ok(); });
  if (!together->failed.ok()) {
    // Stopped requests answer at once, on this thread.
    lock.unlock();
    all.request_stop();
    lock.lock();
  }
  together->changed.wait(lock, [&] { return together->in_flight == 0; });
  return together->failed;
}

}  // namespace forebay
