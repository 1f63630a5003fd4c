#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "cache/hash_map.h"

namespace forebay {

/// Decides which entries stay cached. A tier is filled once and not changed after that: every entry
/// is read once an epoch, so eviction by recency cannot help, and each exchange costs a write. Once
/// the tier is full, an entry replaces others only if it saves kWorthwhile times the seconds that
/// they save, per byte.
///
/// The class is not thread-safe: its owner's lock guards it.
class KeepPolicy {
 public:
  static constexpr double kWorthwhile = 8;
  static constexpr size_t kLookedAt = 64;  ///< limit of entries evicted in one exchange

  void kept(const Hash128& id, uint64_t bytes, double seconds);
  void gone(const Hash128& id);
  /// Returns entries to evict so that `bytes` become free for an entry that took `seconds` to
  /// compute; nothing if that is not worthwhile. Looks at kLookedAt entries at most, the least
  /// valuable first. Changes nothing: the caller reports evictions by gone().
  std::optional<std::vector<Hash128>> exchange(uint64_t bytes, double seconds) const;
  /// Returns the entry that saves the fewest seconds per byte; nothing if there are no entries.
  std::optional<Hash128> cheapest() const;

 private:
  struct Kept {
    uint64_t bytes;
    double seconds;
  };
  struct Cheapest {
    bool operator()(const std::pair<double, Hash128>& a, const std::pair<double, Hash128>& b) const {
      return a.first != b.first ? a.first < b.first : HashOrder()(a.second, b.second);
    }
  };
  static double per_byte(const Kept& kept) { return kept.seconds / static_cast<double>(kept.bytes + 1); }

  std::unordered_map<Hash128, Kept, HashOfHash> kept_;
  std::set<std::pair<double, Hash128>, Cheapest> by_worth_;
};

}  // namespace forebay
