#include "cache/keep_policy.h"

namespace forebay {

void KeepPolicy::kept(const Hash128& id, uint64_t bytes, double seconds) {
  gone(id);
  const Kept entry{bytes, seconds};
  kept_.emplace(id, entry);
  by_worth_.emplace(per_byte(entry), id);
}

void KeepPolicy::gone(const Hash128& id) {
  const auto found = kept_.find(id);
  if (found == kept_.end()) return;
  by_worth_.erase({per_byte(found->second), id});
  kept_.erase(found);
}

std::optional<Hash128> KeepPolicy::cheapest() const {
  return by_worth_.empty() ? std::nullopt : std::optional(by_worth_.begin()->second);
}

std::optional<std::vector<Hash128>> KeepPolicy::exchange(uint64_t bytes, double seconds) const {
  std::vector<Hash128> victims;
  uint64_t freed = 0;
  double lost = 0;
  for (auto it = by_worth_.begin(); it != by_worth_.end() && freed < bytes && victims.size() < kLookedAt; ++it) {
    const Kept& entry = kept_.at(it->second);
    freed += entry.bytes;
    lost += entry.seconds;
    victims.push_back(it->second);
    // Checked inside the loop: the sum only grows, so it ends at the first entry that is too much.
    if (seconds <= kWorthwhile * lost) return std::nullopt;
  }
  if (freed < bytes || victims.empty()) return std::nullopt;
  return victims;
}

}  // namespace forebay
