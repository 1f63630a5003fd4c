#include "loader/peers/peer_group.h"

#include <shared_mutex>
#include <utility>

#include "loader/peers/peer_cache.h"

namespace forebay {

/// What the caches of a loader keep. They may go: the server does not hold on to what nobody uses.
class PeerGroup::CacheKeys final : public KeySource {
 public:
  std::optional<Buffer> find(const Hash128& key) override {
    const std::shared_lock lock(mutex_);
    for (const auto& each : caches_) {
      const auto cache = each.lock();
      if (!cache) continue;
      if (std::optional<Buffer> bytes = cache->stored(key)) return bytes;
    }
    return std::nullopt;
  }
  void add(const std::shared_ptr<TieredCache>& cache) {
    const std::unique_lock lock(mutex_);
    caches_.push_back(cache);
  }

 private:
  std::shared_mutex mutex_;
  std::vector<std::weak_ptr<TieredCache>> caches_;
};

PeerGroup::PeerGroup(std::shared_ptr<Transport> transport)
    : transport_(std::move(transport)), keys_(std::make_shared<CacheKeys>()) {}

Result<std::shared_ptr<PeerGroup>> PeerGroup::open(std::shared_ptr<Transport> transport, const PeerHost& own) {
  std::shared_ptr<PeerGroup> group(new PeerGroup(std::move(transport)));
  FOREBAY_ASSIGN(group->listening_, group->transport_->listen(own.address, own.pass, group->keys_));
  group->address_ = group->listening_->address();
  return group;
}

void PeerGroup::know(std::vector<PeerHost> hosts, int rank) {
  for (size_t i = 0; i < hosts.size(); ++i) {
    names_.push_back("peer " + hosts[i].address);
    const bool own = static_cast<int>(i) == rank;
    peers_.push_back(own ? nullptr : peer_store(transport_, std::move(hosts[i])));
  }
}

std::shared_ptr<TieredCache> PeerGroup::join(std::shared_ptr<TieredCache> cache) {
  keys_->add(cache);
  return peer_cache(std::move(cache), [self = shared_from_this()](int64_t element) { return self->peer_of(element); });
}

void PeerGroup::set_home(HomeHost home) { home_ = std::move(home); }

PeerStore* PeerGroup::peer_of(int64_t element) const {
  const int host = home_ ? home_(element) : -1;
  return host >= 0 && host < static_cast<int>(peers_.size()) ? peers_[static_cast<size_t>(host)].get() : nullptr;
}

void PeerGroup::close() {
  std::unique_ptr<Listening> listening;
  const std::lock_guard lock(mutex_);
  listening = std::move(listening_);
}

void PeerGroup::add_to(Ledger& ledger) const {
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (!peers_[i]) continue;
    StoreStats of = peers_[i]->stats();
    of.name = names_[i];
    if (of.requests > 0) ledger.stores.push_back(std::move(of));
  }
}

}  // namespace forebay
