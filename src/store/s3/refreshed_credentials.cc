#include "store/s3/refreshed_credentials.h"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

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
  std::mutex mutex;
  std::optional<Credentials> current;
  std::vector<Done> waiting;
  bool fetching = false;
  std::chrono::system_clock::time_point not_before{};  // of the next background fetch

  bool less_is_left(std::chrono::system_clock::duration span) const {
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
    const std::lock_guard lock(state_->mutex);
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
  const std::lock_guard lock(state_->mutex);
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
    const std::lock_guard lock(state->mutex);
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
