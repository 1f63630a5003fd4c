#include "loader/peers/peer_cache.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "cache/hash_map.h"
#include "forebay/stats/cache.h"

namespace forebay {

namespace {

/// Requests to peers that are not settled yet: for each entry the number of requests in flight (two
/// loaders may request the same entry), and whether a request for it, or for the version of a name,
/// has failed. Holds at most kCapacity entries and drops the oldest, since a lookup may be
/// abandoned. Thread-safe.
class PeerRequests {
 public:
  void add_request(const Hash128& entry) {
    const Lock lock(mutex_);
    ++state_of(entry).in_flight;
  }
  bool take_request(const Hash128& entry) {
    const Lock lock(mutex_);
    const auto found = requests_.find(entry);
    if (found == requests_.end() || found->second.in_flight == 0) return false;
    --found->second.in_flight;
    erase_if_unused(found);
    return true;
  }
  void forget_requests(const Hash128& entry) {
    const Lock lock(mutex_);
    const auto found = requests_.find(entry);
    if (found == requests_.end()) return;
    found->second.in_flight = 0;
    erase_if_unused(found);
  }
  void note_failure(const Hash128& entry) {
    const Lock lock(mutex_);
    state_of(entry).failed = true;
  }
  bool take_failure(const Hash128& entry) {
    const Lock lock(mutex_);
    const auto found = requests_.find(entry);
    if (found == requests_.end() || !std::exchange(found->second.failed, false)) return false;
    erase_if_unused(found);
    return true;
  }

 private:
  struct State {
    uint64_t sequence = 0;  // value of `inserted_` when it was inserted
    int in_flight = 0;
    bool failed = false;
  };
  using States = std::unordered_map<Hash128, State, HashOfHash>;

  State& state_of(const Hash128& entry) FOREBAY_REQUIRES(mutex_) {
    const auto [at, is_new] = requests_.try_emplace(entry, State{inserted_});
    if (!is_new) return at->second;
    order_.emplace_back(entry, inserted_++);
    if (order_.size() > kCapacity) {
      // An entry that was erased and inserted again has a later sequence number, and stays.
      const auto oldest = requests_.find(order_.front().first);
      if (oldest != requests_.end() && oldest->second.sequence == order_.front().second) requests_.erase(oldest);
      order_.pop_front();
    }
    return requests_.find(entry)->second;
  }
  void erase_if_unused(States::iterator at) FOREBAY_REQUIRES(mutex_) {
    if (at->second.in_flight == 0 && !at->second.failed) requests_.erase(at);
  }

  static constexpr size_t kCapacity = 1 << 14;
  mutable Mutex mutex_;
  States requests_ FOREBAY_GUARDED_BY(mutex_);
  std::deque<std::pair<Hash128, uint64_t>> order_ FOREBAY_GUARDED_BY(mutex_);  // by insertion; includes erased entries
  uint64_t inserted_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

/// The cache of this host, `own`, and, as a further tier, the hosts that own the other entries
/// (PeerOf). find() names a peer's store as the place of an entry, the caller reads there, and
/// open() accepts what it read. A request that fails is noted, so that the entry is computed here
/// next.
class PeerCache final : public TieredCache {
 public:
  PeerCache(std::shared_ptr<TieredCache> own, PeerOf peer_of, int64_t first_element)
      : own_(std::move(own)), peer_of_(std::move(peer_of)), first_element_(first_element) {}

  std::optional<Found> find(const EntryRef& entry) override {
    if (!entry.peers_know) return own_->find(entry);
    if (requests_.take_failure(entry.key)) return std::nullopt;  // computed here without a request
    if (std::optional<Found> found = own_->find(entry)) {
      requests_.forget_requests(entry.key);
      return found;
    }
    const int64_t number = number_of(entry.element);
    const PeerOfEntry peer = peer_of_(number);
    if (!may_ask(peer)) return std::nullopt;
    requests_.add_request(entry.key);
    Found found;
    found.store = peer.store;
    found.request.key = entry_key(entry.key, number);
    found.request.set_aside_bytes = expected_bytes_.load(std::memory_order_relaxed);
    return found;
  }

  std::optional<Found> find_version(const Hash128& name, int64_t id) override {
    const int64_t number = number_of(id);
    const PeerOfEntry peer = peer_of_(number);
    if (!may_ask(peer) || requests_.take_failure(name)) return std::nullopt;
    Found found;
    found.store = peer.store;
    found.request.key = version_key(name, number);
    found.request.expected_size = sizeof(uint64_t);
    return found;
  }
  std::optional<uint64_t> version_of(const Hash128& name, const Buffer& stored) override {
    uint64_t version = 0;
    if (stored.size() != sizeof version) {
      requests_.note_failure(name);
      return std::nullopt;
    }
    std::memcpy(&version, stored.data(), sizeof version);
    return version;
  }
  std::shared_ptr<SingleFlight> flights() override { return own_->flights(); }

  bool has(const Hash128& entry) const override { return own_->has(entry); }

  Result<std::shared_ptr<const Columns>> open(const Hash128& entry, Buffer stored) override {
    if (!requests_.take_request(entry)) return own_->open(entry, std::move(stored));
    const uint64_t bytes = stored.size();
    if (std::optional<Found> here = own_->has(entry) ? own_->find(entry) : std::nullopt; here && here->columns)
      return std::move(here->columns);  // stored meanwhile
    auto columns = bytes == 0 ? Result<std::shared_ptr<const Columns>>(corrupt("no peer has the entry"))
                              : own_->adopt(entry, std::move(stored));
    if (!columns.ok()) {
      requests_.note_failure(entry);
      return columns.status();
    }
    hits_.fetch_add(1, std::memory_order_relaxed);
    const uint64_t before = expected_bytes_.load(std::memory_order_relaxed);
    // The estimate rises at once and falls slowly: too small an estimate costs a second read, too
    // large a one only memory for a while. At 1/256 per entry, 1 of 100 entries needs a second read
    // if the logarithms of sizes have a deviation of 0.3; at 1/32 it was 6 to 8. Two threads may
    // overwrite each other's estimate, which does no harm.
    expected_bytes_.store(std::max(bytes + bytes / 8, before - before / 256), std::memory_order_relaxed);
    return columns;
  }

  bool try_admit(const Hash128& entry, uint64_t bytes) const override { return own_->try_admit(entry, bytes); }
  void put(const EntryRef& entry, std::shared_ptr<const Columns> columns, double seconds, KeepIn where) override {
    // An entry that another host owns displaces no other entry (0 seconds saved): the displaced
    // entry would have to be read again, while the owner still has this one.
    const bool is_own = entry.element >= 0 && peer_of_(number_of(entry.element)).own;
    own_->put(entry, std::move(columns), is_own ? seconds : 0, where);
  }

  CacheStats stats() const override {
    CacheStats stats = own_->stats();
    stats.peer_hits = hits_.load(std::memory_order_relaxed);
    return stats;
  }
  std::optional<Buffer> stored(const Hash128& entry) override { return own_->stored(entry); }
  Result<std::shared_ptr<const Columns>> adopt(const Hash128& entry, Buffer stored) override {
    return own_->adopt(entry, std::move(stored));
  }
  const Store* disk() const override { return own_->disk(); }
  std::shared_ptr<ReclaimableMemory> entries() override { return own_->entries(); }
  std::shared_ptr<ReclaimableMemory> index() override { return own_->index(); }

 private:
  // An element that is unknown stays so.
  int64_t number_of(int64_t element) const { return element < 0 ? element : first_element_ + element; }
  static bool may_ask(const PeerOfEntry& peer) { return peer.store != nullptr && !peer.own && peer.store->may_ask(); }

  const std::shared_ptr<TieredCache> own_;
  const PeerOf peer_of_;
  const int64_t first_element_;
  PeerRequests requests_;  // reads of peers that find() has named and open() has not accepted yet
  std::atomic<uint64_t> hits_{0};
  /// Estimate of the size of an entry that only its owner knows: slightly more than the latest
  /// sizes.
  std::atomic<uint64_t> expected_bytes_{64 << 10};
};

}  // namespace

std::shared_ptr<TieredCache> peer_cache(std::shared_ptr<TieredCache> own, PeerOf peer_of, int64_t first_element) {
  return std::make_shared<PeerCache>(std::move(own), std::move(peer_of), first_element);
}

}  // namespace forebay
