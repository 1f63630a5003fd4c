#include <utility>

#include "serve/server/own_feed.h"

namespace forebay {

namespace {

class OwnFeed final : public Feed {
 public:
  OwnFeed(std::shared_ptr<Loader> loader, uint64_t asked, Reopen reopen)
      : reopen_(std::move(reopen)), asked_(asked), loader_(std::move(loader)) {}
  ~OwnFeed() override { close(); }

  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) override {
    share_what_came();
    return loader_->next_for(timeout, timed_out);
  }
  Loader& position() override { return *loader_; }
  void moved() override {}
  Ledger stats() const override { return loader()->stats(); }
  std::vector<ErrorEntry> errors() const override { return loader()->errors(); }
  void close() override {
    // Kept while it closes: the client's thread may put another in its place.
    const std::shared_ptr<Loader> now = loader();
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    now->close();
  }
  std::string shares() const override {
    const std::lock_guard lock(mutex_);
    return shares_;
  }

 private:
  std::shared_ptr<Loader> loader() const {
    const std::lock_guard lock(mutex_);
    return loader_;
  }

  // A loader with a cache at another place gives the same batches from the same state. Where there is none, this one goes on.
  void share_what_came() {
    Result<Reopened> found = reopen_(&asked_);
    if (!found.ok() || !found->loader || !found->loader->load_state(loader_->state()).ok()) return;
    std::shared_ptr<Loader> other = std::move(found->loader);
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      std::swap(loader_, other);
      shares_ = std::move(found->shares);
    }
    // Without the lock, and behind the swap: stats() already look at the new one.
    other->close();
  }

  const Reopen reopen_;
  uint64_t asked_;
  mutable std::mutex mutex_;
  std::shared_ptr<Loader> loader_;  // changed by the client's thread
  std::string shares_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Feed> own_feed(std::unique_ptr<Loader> loader, Reopen reopen) {
  return std::make_unique<OwnFeed>(std::move(loader), 0, std::move(reopen));
}

}  // namespace forebay
