#include "store/s3/refreshed_credentials.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace forebay {

namespace {

class Fixed final : public CredentialsSource {
 public:
  explicit Fixed(Credentials credentials) : credentials_(std::move(credentials)) {}
  void get(Done done) override { done(credentials_); }
  void refuse(const Credentials&) override {}

 private:
  const Credentials credentials_;
};

}  // namespace

std::shared_ptr<CredentialsSource> fixed_credentials(Credentials credentials) {
  return std::make_shared<Fixed>(std::move(credentials));
}

struct RefreshedCredentials::State {
  Fetch fetch;
  Clock clock;
  Mutex mutex;
  std::optional<Credentials> current FOREBAY_GUARDED_BY(mutex);
  std::vector<Done> waiting FOREBAY_GUARDED_BY(mutex);
  bool fetching FOREBAY_GUARDED_BY(mutex) = false;
  std::chrono::system_clock::time_point not_before FOREBAY_GUARDED_BY(mutex){};  // of the next background fetch

  bool less_is_left(std::chrono::system_clock::duration span) const FOREBAY_REQUIRES(mutex) {
    return current->expires && *current->expires - clock() < span;
  }
};

RefreshedCredentials::RefreshedCredentials(Fetch fetch, Clock clock) : state_(std::make_shared<State>()) {
  state_->fetch = std::move(fetch);
  state_->clock = std::move(clock);
}

RefreshedCredentials::~RefreshedCredentials() { fetched(state_, cancelled("the store was closed")); }

void RefreshedCredentials::get(Done done) {
  std::optional<Credentials> valid;
  bool start = false;
  {
    const Lock lock(state_->mutex);
    if (state_->current && !state_->less_is_left(kMustRefresh)) valid = state_->current;
    const bool soon = valid && state_->less_is_left(kMayRefresh) && state_->clock() >= state_->not_before;
    start = !state_->fetching && (!valid || soon);
    if (start) state_->fetching = true;
    if (!valid) state_->waiting.push_back(std::move(done));
  }
  if (start) fetch(state_);
  // Called after fetch() and without the lock: `done` sends a request, and may call this again.
  if (valid) done(std::move(*valid));
}

void RefreshedCredentials::refuse(const Credentials& credentials) {
  const Lock lock(state_->mutex);
  // Only if they are still current: many requests are refused at once, and the first has led to new
  // credentials.
  if (state_->current == credentials) state_->current.reset();
}

void RefreshedCredentials::fetch(const std::shared_ptr<State>& state) {
  state->fetch([state](Result<Credentials> credentials) { fetched(state, std::move(credentials)); });
}

void RefreshedCredentials::fetched(const std::shared_ptr<State>& state, Result<Credentials> credentials) {
  std::vector<Done> waiting;
  {
    const Lock lock(state->mutex);
    state->fetching = false;
    waiting.swap(state->waiting);
    if (credentials.ok()) {
      state->current = *credentials;
    } else {
      // Applies to background fetches only: without valid credentials each new request fetches
      // again, and gets the error.
      state->not_before = state->clock() + kPause;
    }
  }
  for (Done& done : waiting) done(credentials);
}

}  // namespace forebay
