#include "cache/ram_tier.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "forebay/stats/cache.h"

namespace forebay {

namespace {
/// Estimate for nodes of the map and of the policy, control blocks, and the allocator.
constexpr uint64_t kPerEntry = 400;
constexpr uint64_t kPerBadRow = 256;
/// Share of an entry's seconds that reading it from disk takes: a guess on the high side.
constexpr double kShareOfRead = 0.05;
}  // namespace

uint64_t RamTier::overhead_bytes(const Columns& columns) {
  uint64_t bytes = kPerEntry + sizeof columns + columns.values.size() * (sizeof(Field) + sizeof(ColumnValues));
  for (const Field& field : columns.schema) bytes += field.name.capacity();
  return bytes + (columns.bad_rows ? columns.bad_rows->size() * kPerBadRow : 0);
}

std::shared_ptr<const Columns> RamTier::find(const Hash128& id) {
  const Lock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return nullptr;
  ++hits_;
  return found->second.columns;
}

std::shared_ptr<const Columns> RamTier::peek(const Hash128& id) const {
  const Lock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.columns;
}

bool RamTier::has(const Hash128& id) const {
  const Lock lock(mutex_);
  return entries_.contains(id);
}

bool RamTier::fits(uint64_t bytes) const {
  const Lock lock(mutex_);
  if (bytes > budget_bytes_) return false;
  // Entries on disk saved little, so put() may evict all of them.
  if (used_bytes_ - on_disk_bytes_ <= budget_bytes_ - bytes) return true;
  // Entries that saved no time are evicted for any that saves some, but only a limited number of
  // them.
  return policy_.choose_victims(bytes - free_bytes(), std::numeric_limits<double>::min()).has_value();
}

bool RamTier::free_for(uint64_t bytes) const {
  const Lock lock(mutex_);
  return bytes <= free_bytes();
}

uint64_t RamTier::free_bytes() const {
  // Clamped, because a difference that wrapped around would admit everything.
  return budget_bytes_ - std::min(used_bytes_.load(), budget_bytes_);
}

bool RamTier::put(const Hash128& id, std::shared_ptr<const Columns> columns, uint64_t memory_bytes, double seconds,
                  bool on_disk) {
  const uint64_t bytes = memory_bytes + overhead_bytes(*columns);
  const double saved = on_disk ? seconds * kShareOfRead : seconds;
  std::vector<std::shared_ptr<const Columns>> evicted;  // destroyed after the lock is released
  const Lock lock(mutex_);
  // Two threads may have computed it at once; both results are right.
  if (entries_.contains(id)) return true;
  if (bytes > free_bytes() && bytes <= budget_bytes_) {
    const auto victims = policy_.choose_victims(bytes - free_bytes(), saved);
    for (const Hash128& victim : victims.value_or(std::vector<Hash128>())) evicted.push_back(remove(victim));
  }
  if (bytes > free_bytes()) {
    ++declined_;
    return false;
  }
  entries_.emplace(id, Entry{std::move(columns), bytes, on_disk});
  policy_.insert(id, bytes, saved);
  used_bytes_ += bytes;
  on_disk_bytes_ += on_disk ? bytes : 0;
  return true;
}

std::shared_ptr<const Columns> RamTier::remove(const Hash128& id) {
  const auto found = entries_.find(id);
  std::shared_ptr<const Columns> columns = std::move(found->second.columns);
  used_bytes_ -= found->second.bytes;
  on_disk_bytes_ -= found->second.on_disk ? found->second.bytes : 0;
  entries_.erase(found);
  policy_.erase(id);
  return columns;
}

uint64_t RamTier::reclaim(uint64_t bytes) {
  uint64_t reclaimed = 0;
  while (reclaimed < bytes) {
    std::shared_ptr<const Columns> columns;  // destroyed after the lock is released
    const Lock lock(mutex_);
    const std::optional<Hash128> cheapest = policy_.least_valuable();
    if (!cheapest) break;
    const uint64_t before = used_bytes_;
    columns = remove(*cheapest);
    reclaimed += before - used_bytes_;
  }
  return reclaimed;
}

void RamTier::raise_budget(uint64_t bytes) {
  const Lock lock(mutex_);
  budget_bytes_ = std::max(budget_bytes_, bytes);
}

TierStats RamTier::stats() const {
  const Lock lock(mutex_);
  TierStats stats;
  stats.hits = hits_;
  stats.entries = entries_.size();
  stats.bytes = used_bytes_;
  stats.budget_bytes = budget_bytes_;
  stats.declined = declined_;
  return stats;
}

}  // namespace forebay
