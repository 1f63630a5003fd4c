#include "loader/peers/peer_group.h"

#include <algorithm>
#include <cstring>
#include <shared_mutex>
#include <utility>

#include "base/shared_versions.h"

namespace forebay {

/// What the caches of a loader keep. They may go: the server does not hold on to what nobody uses.
class PeerGroup::CacheKeys final : public KeySource {
 public:
  std::optional<Buffer> find(const Hash128& key) override {
    const std::shared_lock lock(mutex_);
    if (key == run_key_) return run_;
    for (const auto& each : caches_) {
      const auto cache = each.lock();
      if (!cache) continue;
      if (std::optional<Buffer> bytes = cache->stored(key)) return bytes;
    }
    return std::nullopt;
  }
  std::optional<Buffer> find_wanted(const WantedKey& wanted) override {
    if (std::optional<Buffer> version = version_of(wanted)) return version;
    return find(wanted.key);
  }
  std::optional<uint64_t> coming(int64_t element) override {
    const int64_t at = position_.load(std::memory_order_relaxed);
    if (element < 0) return std::nullopt;
    // A loader that is being opened will know; hosts have met by then.
    if (!has_home_.load(std::memory_order_acquire)) return UINT64_MAX;
    if (at == INT64_MAX) return std::nullopt;
    const Home home = home_(element);
    // What is behind this loader's place and not kept will not be made any more: the asker makes it.
    if (home.host != rank_ || home.position < at) return std::nullopt;
    return static_cast<uint64_t>(home.position - at);
  }
  Home home_of(int64_t element) const { return has_home_.load(std::memory_order_acquire) ? home_(element) : Home(); }
  void set_versions(std::shared_ptr<const Source> source) { source_ = std::move(source); }
  void set_home(HomeHost home, int rank) {
    home_ = std::move(home);
    rank_ = rank;
    // Set once: who sees the flag sees home_, rank_ and source_ as they were set before.
    has_home_.store(true, std::memory_order_release);
  }
  void set_run(const std::string& terms) {
    Buffer text = Buffer::allocate(terms.size());
    std::copy(terms.begin(), terms.end(), text.data());
    const std::unique_lock lock(mutex_);
    run_ = std::move(text);
  }
  void stands_at(int64_t position) { position_.store(position, std::memory_order_relaxed); }
  void add(const std::shared_ptr<TieredCache>& cache) {
    const std::unique_lock lock(mutex_);
    caches_.push_back(cache);
  }

 private:
  // The element is a stranger's word, and so is the key: only the name of that very sample is answered.
  std::optional<Buffer> version_of(const WantedKey& wanted) const {
    if (!has_home_.load(std::memory_order_acquire) || !source_) return std::nullopt;
    const SharedVersions* const versions = shared_versions(*source_);
    const bool is_sample = wanted.element >= 0 && wanted.element < source_->size();
    if (versions == nullptr || !is_sample || wanted.key != version_key(versions->name(wanted.element)))
      return std::nullopt;
    const std::optional<uint64_t> learned = versions->learned(wanted.element);
    if (!learned) return std::nullopt;
    Buffer bytes = Buffer::allocate(sizeof *learned);
    std::memcpy(bytes.data(), &*learned, sizeof *learned);
    return bytes;
  }

  std::atomic<bool> has_home_{false};
  std::shared_ptr<const Source> source_;
  std::atomic<int64_t> position_{INT64_MAX};  ///< of the first epoch; beyond all where that is over, or has not begun
  HomeHost home_;
  int rank_ = -1;
  std::shared_mutex mutex_;
  std::vector<std::weak_ptr<TieredCache>> caches_;
  const Hash128 run_key_ = run_terms_key();
  std::optional<Buffer> run_;  ///< nothing: not known yet, or of another rank than 0
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
  rank_ = rank;
  if (!hosts.empty()) leader_ = hosts.front();
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

void PeerGroup::set_versions(std::shared_ptr<const Source> source) { keys_->set_versions(std::move(source)); }

void PeerGroup::set_home(HomeHost home) { keys_->set_home(std::move(home), rank_); }

void PeerGroup::set_run(RunTerms terms) {
  if (rank_ == 0) return keys_->set_run(terms.to_json());
  check_ = std::make_unique<RunCheck>(transport_, leader_, rank_, std::move(terms));
  (void)check_run();  // it asks
}

void PeerGroup::stands_at(int64_t epoch, int64_t position) { keys_->stands_at(epoch == 0 ? position : INT64_MAX); }

PeerPlace PeerGroup::peer_of(int64_t element) const {
  const int host = keys_->home_of(element).host;
  if (host < 0 || host >= static_cast<int>(peers_.size())) return {};
  return {peers_[static_cast<size_t>(host)].get(), host == rank_};
}

void PeerGroup::close() {
  std::unique_ptr<Listening> listening;
  const std::lock_guard lock(mutex_);
  held_.reset();
  // Ended behind the lock: its end waits for answers that are being given.
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
