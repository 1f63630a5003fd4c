#include "loader/peers/peer_cache.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "cache/hash_map.h"

namespace forebay {

namespace {

/// The latest entries of which something is to be remembered until they are next seen. Bounded: what is given up meanwhile is never seen
/// again.
class LatestEntries {
 public:
  /// False where it is there already.
  bool add(const Hash128& entry) {
    const std::lock_guard lock(mutex_);
    return add_new(entry);
  }
  /// Once more: each time is taken by itself.
  void add_another(const Hash128& entry) {
    const std::lock_guard lock(mutex_);
    if (!add_new(entry)) ++entries_[entry].times;
  }
  bool has(const Hash128& entry) const {
    const std::lock_guard lock(mutex_);
    return entries_.contains(entry);
  }
  bool take(const Hash128& entry) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(entry);
    if (found == entries_.end()) return false;
    if (--found->second.times == 0) entries_.erase(found);
    return true;
  }
  void forget(const Hash128& entry) {
    const std::lock_guard lock(mutex_);
    entries_.erase(entry);
  }

 private:
  struct Remembered {
    uint64_t number = 0;  // that it was added as
    int times = 1;
  };
  bool add_new(const Hash128& entry) {
    if (!entries_.try_emplace(entry, Remembered{added_}).second) return false;
    order_.emplace_back(entry, added_++);
    if (order_.size() <= kMost) return true;
    // Unless it was taken since, and is there again as a later one.
    const auto oldest = entries_.find(order_.front().first);
    if (oldest != entries_.end() && oldest->second.number == order_.front().second) entries_.erase(oldest);
    order_.pop_front();
    return true;
  }
  static constexpr size_t kMost = 1 << 14;
  mutable std::mutex mutex_;
  std::unordered_map<Hash128, Remembered, HashOfHash> entries_;
  std::deque<std::pair<Hash128, uint64_t>> order_;  // also of those that were taken
  uint64_t added_ = 0;
};

class PeerCache final : public TieredCache {
 public:
  PeerCache(std::shared_ptr<TieredCache> own, PeerOf peer_of) : own_(std::move(own)), peer_of_(std::move(peer_of)) {}

  std::optional<Found> find(const Hash128& entry) override { return own_->find(entry); }

  std::optional<Found> find_of(const Hash128& entry, int64_t element) override {
    if (in_vain_.take(entry)) return std::nullopt;
    if (std::optional<Found> found = own_->find(entry)) {
      asked_.forget(entry);
      return found;
    }
    const PeerPlace place = peer_of_(element);
    if (!may_ask(place)) return std::nullopt;
    asked_.add_another(entry);
    Found found;
    found.store = place.store;
    found.request.key = entry_key(entry, element);
    found.request.set_aside_bytes = guess_.load(std::memory_order_relaxed);
    return found;
  }

  std::optional<Found> find_version(const Hash128& name, int64_t id) override {
    const PeerPlace place = peer_of_(id);
    if (!may_ask(place) || versions_in_vain_.take(name)) return std::nullopt;
    Found found;
    found.store = place.store;
    found.request.key = version_key(name, id);
    found.request.expected_size = sizeof(uint64_t);
    return found;
  }
  std::optional<uint64_t> version_of(const Hash128& name, const Buffer& stored) override {
    uint64_t version = 0;
    if (stored.size() != sizeof version) {
      (void)versions_in_vain_.add(name);
      return std::nullopt;
    }
    std::memcpy(&version, stored.data(), sizeof version);
    return version;
  }
  std::shared_ptr<SingleFlight> flights() override { return own_->flights(); }

  bool has(const Hash128& entry) const override { return own_->has(entry); }

  Result<std::shared_ptr<const Columns>> open(const Hash128& entry, Buffer stored) override {
    if (!asked_.take(entry)) return own_->open(entry, std::move(stored));
    const uint64_t bytes = stored.size();
    if (std::optional<Found> here = own_->has(entry) ? own_->find(entry) : std::nullopt; here && here->columns)
      return std::move(here->columns);  // made meanwhile
    auto columns = bytes == 0 ? Result<std::shared_ptr<const Columns>>(corrupt("no peer has the entry"))
                              : own_->adopt(entry, std::move(stored));
    if (!columns.ok()) {
      (void)in_vain_.add(entry);
      return columns.status();
    }
    hits_.fetch_add(1, std::memory_order_relaxed);
    const uint64_t before = guess_.load(std::memory_order_relaxed);
    // Up at once and down slowly: what is too small costs a second read, what is too large only memory for a while. By 1/256 each time one entry in
    // 100 is asked for twice where the logarithms of sizes deviate by 0.3; by 1/32 it was 6 to 8.
    // Two threads may overwrite each other; it is a guess.
    guess_.store(std::max(bytes + bytes / 8, before - before / 256), std::memory_order_relaxed);
    return columns;
  }

  bool admits(uint64_t bytes) const override { return own_->admits(bytes); }
  void put(const Hash128& entry, std::shared_ptr<const Columns> columns, double seconds, KeepIn where,
           int64_t element) override {
    // What another host owns takes nobody's room: it would have to be read again there, and once more here.
    const bool is_own = element >= 0 && peer_of_(element).own;
    own_->put(entry, std::move(columns), is_own ? seconds : 0, where, element);
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
  std::shared_ptr<KeptBytes> entries() override { return own_->entries(); }
  std::shared_ptr<KeptBytes> index() override { return own_->index(); }

 private:
  static bool may_ask(const PeerPlace& place) { return place.store != nullptr && !place.own && place.store->may_ask(); }

  const std::shared_ptr<TieredCache> own_;
  const PeerOf peer_of_;
  LatestEntries asked_;             ///< on their way, each as often as it is (two loaders may want one entry)
  LatestEntries in_vain_;           ///< made without asking again, once
  LatestEntries versions_in_vain_;  ///< the same of names whose version was asked for
  std::atomic<uint64_t> hits_{0};
  /// What is set aside for an entry whose size only its host knows: a little more than the latest ones had.
  std::atomic<uint64_t> guess_{64 << 10};
};

}  // namespace

std::shared_ptr<TieredCache> peer_cache(std::shared_ptr<TieredCache> own, PeerOf peer_of) {
  return std::make_shared<PeerCache>(std::move(own), std::move(peer_of));
}

}  // namespace forebay
