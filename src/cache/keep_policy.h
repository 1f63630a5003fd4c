#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "cache/hash_map.h"

namespace forebay {

/// Which entries are worth their room. Fill, then keep: a host that sweeps the whole epoch uses each entry once an epoch, so
/// no choice by recency gains anything and each exchange costs a write. Once the room is full an entry takes the place of
/// others only where it saves kWorthwhile times the seconds that they save, per byte of room.
///
/// Not thread-safe: whoever owns it has a lock.
class KeepPolicy {
 public:
  static constexpr double kWorthwhile = 8;
  static constexpr size_t kLookedAt = 64;  ///< entries that go in one exchange, at most

  void kept(const Hash128& id, uint64_t bytes, double seconds);
  void gone(const Hash128& id);
  /// Entries to let go so that `bytes` become free for one that took `seconds` to make; nothing where that is not worth it.
  /// Looks at kLookedAt entries at most, the least worthwhile first; changes nothing: gone() says what went.
  std::optional<std::vector<Hash128>> exchange(uint64_t bytes, double seconds) const;
  /// The one that saves the fewest seconds per byte of room; nothing where none is kept.
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
