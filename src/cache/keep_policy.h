#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "cache/hash_map.h"

namespace forebay {

/// Decides which entries of a full tier are evicted for a new one. Every entry is read once an
/// epoch, so eviction by recency cannot help, and each replacement costs a write. So entries stay,
/// and once the tier is full, an entry replaces others only if it saves kReplacementGain times the
/// seconds that they save, per byte.
///
/// The class is not thread-safe: its owner's lock guards it.
class KeepPolicy {
 public:
  static constexpr double kReplacementGain = 8;
  static constexpr size_t kMaxVictims = 64;  ///< limit of the entries evicted for one

  /// Records that the tier holds an entry that took `seconds` to compute.
  void insert(const Hash128& id, uint64_t bytes, double seconds);
  /// Records that the tier no longer holds the entry.
  void erase(const Hash128& id);
  /// Returns entries to evict so that `bytes` become free for an entry that took `seconds` to
  /// compute; nothing if that is not worthwhile. Looks at kMaxVictims entries at most, the least
  /// valuable first. Changes nothing: the caller reports evictions by erase().
  std::optional<std::vector<Hash128>> choose_victims(uint64_t bytes, double seconds) const;
  /// Returns the entry that saves the fewest seconds per byte; nothing if there are no entries.
  std::optional<Hash128> least_valuable() const;

 private:
  struct Entry {
    uint64_t bytes;
    double seconds;
  };
  struct ByValue {
    bool operator()(const std::pair<double, Hash128>& a, const std::pair<double, Hash128>& b) const {
      return a.first != b.first ? a.first < b.first : HashOrder()(a.second, b.second);
    }
  };
  static double value_per_byte(const Entry& entry) { return entry.seconds / static_cast<double>(entry.bytes + 1); }

  std::unordered_map<Hash128, Entry, HashOfHash> entries_;
  std::set<std::pair<double, Hash128>, ByValue> by_value_;
};

}  // namespace forebay
