#include "serve/server/own_feed.h"

#include <future>
#include <optional>
#include <system_error>
#include <utility>

#include "base/mutex.h"
#include "forebay/ledger.h"
#include "serve/server/carried_counters.h"

namespace forebay {

namespace {

class OwnFeed final : public Feed {
 public:
  OwnFeed(std::shared_ptr<Loader> loader, FindSuccessor find_successor)
      : find_successor_(std::move(find_successor)), loader_(std::move(loader)) {}
  ~OwnFeed() override { close(); }

  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) override {
    adopt_successor();
    const std::shared_ptr<Loader> now = loader();
    Result<std::optional<Batch>> given = now->next_for(timeout, timed_out);
    if (given.ok() && !*timed_out) end_pending_ = given->has_value() && (*given)->epoch != now->epoch();
    return given;
  }
  Loader& position() override { return *loader(); }
  void position_changed() override { end_pending_ = false; }
  void pin_loader() override { loader_pinned_ = true; }
  void unpin_loader() override { loader_pinned_ = false; }
  Ledger stats() const override {
    std::shared_ptr<Loader> now;
    std::optional<Ledger> before;
    {
      const Lock lock(mutex_);
      now = loader_;
      before = before_;
    }
    return total_counters(*now, before);
  }
  std::vector<ErrorEntry> errors() const override { return loader()->errors(); }
  void close() override {
    stop_.request_stop();
    // Keeps the loader alive while it closes: the client's thread may replace it.
    const std::shared_ptr<Loader> now = loader();
    {
      const Lock lock(mutex_);
      closed_ = true;
    }
    now->close();
  }
  std::string shares() const override {
    const Lock lock(mutex_);
    return shares_;
  }

 private:
  std::shared_ptr<Loader> loader() const {
    const Lock lock(mutex_);
    return loader_;
  }

  // Returns the loader's counters with those of its predecessors.
  static Ledger total_counters(const Loader& now, const std::optional<Ledger>& before) {
    Ledger sum = now.stats();
    if (before) carry_counters(*before, sum, /*same_store=*/false);
    return sum;
  }

  // Replaces the loader by one with a better placed cache, once that is open. The new loader
  // continues from the same state with the same batches.
  void adopt_successor() {
    if (!opening_.valid()) return open_successor();
    if (opening_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    // After the last batch of an epoch the epoch's end is still to be delivered. A loader that
    // begins there would not know of it.
    if (end_pending_ || loader_pinned_) return;
    Result<Successor> found = opening_.get();
    // A new loader would not know the error log and the number of bad samples of this epoch either.
    const std::shared_ptr<Loader> now = loader();
    if (!found.ok() || !now->errors().empty() || !found->loader->load_state(now->state()).ok()) return;
    std::shared_ptr<Loader> other = std::move(found->loader);
    {
      const Lock lock(mutex_);
      if (closed_) return;
      before_ = total_counters(*loader_, before_);
      std::swap(loader_, other);
      shares_ = std::move(found->shares);
    }
    // Without the lock and after the swap, so that stats() uses the new loader already.
    other->close();
  }

  // Opens on another thread, because listing a bucket or a pass over the data takes a while and
  // this thread has messages to answer.
  void open_successor() {
    OpenSuccessor open = find_successor_(&seen_version_);
    if (!open) return;
    try {
      opening_ = std::async(std::launch::async, std::move(open), stop_.get_token());
    } catch (const std::system_error&) {
      // No thread can be created. The present loader continues.
    }
  }

  const FindSuccessor find_successor_;
  uint64_t seen_version_ = 0;
  bool end_pending_ = false, loader_pinned_ = false;
  mutable Mutex mutex_;
  std::shared_ptr<Loader> loader_ FOREBAY_GUARDED_BY(mutex_);  // changed by the client's thread
  std::string shares_ FOREBAY_GUARDED_BY(mutex_);
  std::optional<Ledger> before_ FOREBAY_GUARDED_BY(mutex_);  // sum of the counters of earlier loaders
  bool closed_ FOREBAY_GUARDED_BY(mutex_) = false;
  std::stop_source stop_;
  std::future<Result<Successor>> opening_;  // last, so that it has ended before other members go
};

}  // namespace

std::unique_ptr<Feed> own_feed(std::unique_ptr<Loader> loader, FindSuccessor find_successor) {
  return std::make_unique<OwnFeed>(std::move(loader), std::move(find_successor));
}

}  // namespace forebay
