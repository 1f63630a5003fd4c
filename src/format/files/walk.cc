#include "format/files/walk.h"

#include <memory>
#include <utility>

#include "base/cond_var.h"
#include "base/mutex.h"
#include "format/files/listing_boundaries.h"
#include "format/files/listing_plan.h"

namespace forebay {

namespace {

class Walk : public std::enable_shared_from_this<Walk> {
 public:
  Walk(Store& store, ListingPlan plan, const ListingPlan::OnPage& on_page)
      : store_(store), plan_(std::move(plan)), on_page_(on_page) {}

  Status run(std::stop_token stop) {
    const std::stop_callback pass_on(stop, [self = shared_from_this()] { self->stop_.request_stop(); });
    Lock lock(mutex_);
    // After an error this still waits until nothing is in flight, because answers use `on_page`,
    // which belongs to the caller.
    while (error_.ok() ? !plan_.done() : plan_.in_flight() > 0) {
      // After an error the other requests in flight are cancelled.
      if (!error_.ok() && !stop_.stop_requested()) {
        lock.unlock();
        stop_.request_stop();  // may call the stores' callbacks, which take the lock
        lock.lock();
        continue;
      }
      std::optional<ListingPlan::Part> part = error_.ok() ? plan_.next() : std::nullopt;
      if (!part) {
        answered_.wait(lock);
        continue;
      }
      // A store may answer at once, on this thread, and the answer takes the lock.
      lock.unlock();
      start(std::move(*part));
      lock.lock();
    }
    return error_;
  }

  uint64_t entries() const {
    const Lock lock(mutex_);
    return plan_.entries();
  }
  Boundaries boundaries() {
    const Lock lock(mutex_);
    return plan_.boundaries();
  }

 private:
  void start(ListingPlan::Part part) {
    const ListRequest request = part.request;
    store_.list(request, stop_.get_token(), [self = shared_from_this(), part = std::move(part)](Result<ListPage> page) {
      const Lock in_answer(self->mutex_);
      if (page.ok() && self->error_.ok()) {
        self->plan_.take(part, *page, self->on_page_);
      } else {
        self->plan_.fail();
        if (self->error_.ok()) self->error_ = page.status();
      }
      self->answered_.notify_all();
    });
  }

  Store& store_;
  mutable Mutex mutex_;
  CondVar answered_;
  ListingPlan plan_ FOREBAY_GUARDED_BY(mutex_);
  const ListingPlan::OnPage& on_page_;
  Status error_ FOREBAY_GUARDED_BY(mutex_);
  std::stop_source stop_;
};

}  // namespace

Status walk(Store& store, const std::string& prefix, std::stop_token stop, const ListingPlan::OnPage& on_page) {
  const ListingTraits traits = store.listing();
  const BoundaryFiles files(traits.boundaries_folder);
  const bool keeps = traits.in_ranges && !traits.boundaries_folder.empty();
  const std::string listing = store.display_name(prefix);
  const Boundaries known = keeps ? files.load(listing) : Boundaries();
  auto state = std::make_shared<Walk>(store, ListingPlan(traits, known, prefix), on_page);
  Status walked = state->run(stop);
  if (walked.ok() && state->entries() == 0 && !known.empty()) {
    // Partial listings cannot tell an empty folder from a missing one.
    state = std::make_shared<Walk>(store, ListingPlan(traits, {}, prefix), on_page);
    walked = state->run(std::move(stop));
  }
  if (!walked.ok() || !keeps) return walked;
  const Boundaries now = state->boundaries();
  if (now != known) files.save(listing, now);
  return walked;
}

}  // namespace forebay
