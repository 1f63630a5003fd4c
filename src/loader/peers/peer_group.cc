#include "loader/peers/peer_group.h"

#include <atomic>
#include <utility>

#include "base/shared_mutex.h"
#include "base/source.h"
#include "forebay/ledger.h"

namespace forebay {

/// The entries of a loader's caches. It holds the caches weakly, so that the listener does not
/// own them.
class PeerGroup::Entries final : public EntrySource {
 public:
  std::optional<Buffer> entry(const Hash128& key) override {
    const SharedLock lock(mutex_);
    for (const auto& each : caches_) {
      const auto cache = each.lock();
      if (!cache) continue;
      if (std::optional<Buffer> bytes = cache->stored(key)) return bytes;
    }
    return std::nullopt;
  }
  // Answers only for the name of that very sample.
  std::optional<uint64_t> version(const Hash128& name, int64_t sample) override {
    if (!has_owner_.load(std::memory_order_acquire) || !numbers_ || sample >= numbers_->size()) return std::nullopt;
    const auto [branch, id] = numbers_->place_of(sample);
    const LearnedVersions* const versions = sources_[branch]->learned_versions();
    if (versions == nullptr || name != versions->name(id)) return std::nullopt;
    return versions->learned_version(id);
  }
  std::optional<uint64_t> coming(int64_t element) override {
    const int64_t at = position_.load(std::memory_order_relaxed);
    // A loader that is still being opened will know its owners later; the hosts have met already.
    if (!has_owner_.load(std::memory_order_acquire)) return UINT64_MAX;
    if (at == INT64_MAX) return std::nullopt;
    const Owner owner = (*owner_now())(element);
    // An entry before this loader's place that is not cached will not be computed any more, so the
    // asker computes it.
    if (owner.host != rank_ || owner.position < at) return std::nullopt;
    return static_cast<uint64_t>(owner.position - at);
  }
  Owner owner_of(int64_t element) const {
    return has_owner_.load(std::memory_order_acquire) ? (*owner_now())(element) : Owner();
  }
  void set_versions(std::shared_ptr<const ElementNumbers> numbers, std::vector<std::shared_ptr<const Source>> sources) {
    numbers_ = std::move(numbers);
    sources_ = std::move(sources);
  }
  void set_owner(OwnerOf owner, int rank) {
    {
      const ExclusiveLock lock(mutex_);
      owner_ = std::make_shared<const OwnerOf>(std::move(owner));
    }
    rank_ = rank;
    // A thread that sees the flag also sees the members that were set before it.
    has_owner_.store(true, std::memory_order_release);
  }
  std::shared_ptr<const OwnerOf> owner_now() const {
    const SharedLock lock(mutex_);
    return owner_;
  }
  void set_position(int64_t position) { position_.store(position, std::memory_order_relaxed); }
  void add(const std::shared_ptr<TieredCache>& cache) {
    const ExclusiveLock lock(mutex_);
    caches_.push_back(cache);
  }

 private:
  std::atomic<bool> has_owner_{false};
  std::shared_ptr<const ElementNumbers> numbers_;
  std::vector<std::shared_ptr<const Source>> sources_;  ///< by branch
  std::atomic<int64_t> position_{INT64_MAX};            ///< over all epochs; INT64_MAX before it is set
  std::atomic<int> rank_{-1};
  mutable SharedMutex mutex_;
  std::shared_ptr<const OwnerOf> owner_ FOREBAY_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<TieredCache>> caches_ FOREBAY_GUARDED_BY(mutex_);
};

PeerGroup::PeerGroup() : entries_(std::make_shared<Entries>()) {}

std::shared_ptr<Service> PeerGroup::service() const { return std::make_shared<EntryService>(entries_); }

void PeerGroup::join_job(std::shared_ptr<Job> job) {
  job_ = std::move(job);
  for (int rank = 0; rank < job_->ranks(); ++rank)
    peers_.push_back(rank == job_->rank() ? nullptr : peer_store(job_->transport(), job_->host(rank)));
}

std::shared_ptr<TieredCache> PeerGroup::join(std::shared_ptr<TieredCache> cache, int64_t first_element) {
  entries_->add(cache);
  return peer_cache(
      std::move(cache), [self = shared_from_this()](int64_t element) { return self->peer_of(element); }, first_element);
}

void PeerGroup::set_versions(std::shared_ptr<const ElementNumbers> numbers,
                             std::vector<std::shared_ptr<const Source>> sources) {
  entries_->set_versions(std::move(numbers), std::move(sources));
}

void PeerGroup::set_owner(OwnerOf owner) { entries_->set_owner(std::move(owner), job_->rank()); }

void PeerGroup::set_position(int64_t position) { entries_->set_position(position); }

PeerOfEntry PeerGroup::peer_of(int64_t element) const {
  const int host = entries_->owner_of(element).host;
  if (host < 0 || host >= static_cast<int>(peers_.size())) return {};
  return {peers_[static_cast<size_t>(host)].get(), host == job_->rank()};
}

void PeerGroup::add_to(Ledger& ledger) const {
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    if (!peers_[rank]) continue;
    StoreStats of = peers_[rank]->stats();
    of.name = "peer " + job_->host(static_cast<int>(rank)).address;
    if (of.requests > 0) ledger.stores.push_back(std::move(of));
  }
}

}  // namespace forebay
