#include "format/walk.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace forebay {

namespace {

constexpr size_t kListingsInFlight = 32;

struct Walk {
  std::mutex mutex;
  std::condition_variable answered;
  std::deque<ListRequest> waiting;
  size_t in_flight = 0;
  Status error;
  std::stop_source stop;
};

}  // namespace

Status walk(Store& store, const std::string& prefix, std::stop_token stop,
            const std::function<void(const std::string& folder, ListPage& page)>& on_page) {
  const auto state = std::make_shared<Walk>();
  const std::stop_callback pass_on(stop, [state] { state->stop.request_stop(); });
  ListRequest first;
  first.prefix = prefix;
  state->waiting.push_back(first);

  std::unique_lock lock(state->mutex);
  while (state->in_flight > 0 || (!state->waiting.empty() && state->error.ok())) {
    if (state->waiting.empty() || !state->error.ok() || state->in_flight >= kListingsInFlight) {
      state->answered.wait(lock);
      continue;
    }
    ListRequest request = std::move(state->waiting.front());
    state->waiting.pop_front();
    ++state->in_flight;
    lock.unlock();
    store.list(request, state->stop.get_token(), [state, request, &on_page](Result<ListPage> page) {
      const std::lock_guard in_answer(state->mutex);
      --state->in_flight;
      if (page.ok() && state->error.ok()) {
        on_page(request.prefix, *page);
        for (std::string& folder : page->prefixes) {
          ListRequest below;
          below.prefix = std::move(folder);
          state->waiting.push_back(std::move(below));
        }
        if (!page->continuation.empty()) {
          state->waiting.push_front(request);
          state->waiting.front().continuation = page->continuation;
        }
      } else if (!page.ok() && state->error.ok()) {
        state->error = page.status();
      }
      state->answered.notify_all();
    });
    lock.lock();
    if (!state->error.ok()) {
      lock.unlock();
      state->stop.request_stop();  // calls back the stores, which answer under the lock
      lock.lock();
    }
  }
  return state->error;
}

}  // namespace forebay
