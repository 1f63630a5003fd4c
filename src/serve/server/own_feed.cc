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
    const std::shared_ptr<Loader> current = loader();
    Result<std::optional<Batch>> batch = current->next_for(timeout, timed_out);
    if (batch.ok() && !*timed_out) end_pending_ = batch->has_value() && (*batch)->epoch != current->epoch();
    return batch;
  }
  Loader& position() override { return *loader(); }
  void position_changed() override { end_pending_ = false; }
  void pin_loader() override { loader_pinned_ = true; }
  void unpin_loader() override { loader_pinned_ = false; }
  Ledger stats() const override {
    std::shared_ptr<Loader> current;
    std::optional<Ledger> earlier;
    {
      const Lock lock(mutex_);
      current = loader_;
      earlier = earlier_counters_;
    }
    return total_counters(*current, earlier);
  }
  std::vector<ErrorEntry> errors() const override { return loader()->errors(); }
  void close() override {
    stop_.request_stop();
    std::shared_ptr<Loader> current;
    {
      // One lock for both: a loader adopted between them would remain open.
      const Lock lock(mutex_);
      closed_ = true;
      current = loader_;
    }
    current->close();
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
  static Ledger total_counters(const Loader& current, const std::optional<Ledger>& earlier) {
    Ledger sum = current.stats();
    if (earlier) carry_counters(*earlier, sum, /*same_store=*/false);
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
    Result<Successor> successor = opening_.get();
    // A new loader would not know the error log and the number of bad samples of this epoch either.
    const std::shared_ptr<Loader> replaced = loader();
    if (!successor.ok() || !replaced->errors().empty() || !successor->loader->load_state(replaced->state()).ok())
      return;
    {
      const Lock lock(mutex_);
      if (closed_) return;
      earlier_counters_ = total_counters(*loader_, earlier_counters_);
      loader_ = std::move(successor->loader);
      shares_ = std::move(successor->shares);
    }
    // Without the lock and after the replacement, so that stats() uses the new loader already.
    replaced->close();
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
  // Only the client's thread uses these three and `opening_`.
  uint64_t seen_version_ = 0;   // latest set of clients that find_successor_ examined
  bool end_pending_ = false;    // the last batch of an epoch was delivered, the epoch's end was not
  bool loader_pinned_ = false;  // see pin_loader()

  mutable Mutex mutex_;
  std::shared_ptr<Loader> loader_ FOREBAY_GUARDED_BY(mutex_);  // changed by the client's thread
  std::string shares_ FOREBAY_GUARDED_BY(mutex_);
  std::optional<Ledger> earlier_counters_ FOREBAY_GUARDED_BY(mutex_);  // sum over the replaced loaders
  bool closed_ FOREBAY_GUARDED_BY(mutex_) = false;                     // loader_ is replaced no more
  std::stop_source stop_;
  std::future<Result<Successor>> opening_;  // last, so that it has ended before other members go
};

}  // namespace

std::unique_ptr<Feed> own_feed(std::shared_ptr<Loader> loader, FindSuccessor find_successor) {
  return std::make_unique<OwnFeed>(std::move(loader), std::move(find_successor));
}

}  // namespace forebay
