#include "cache/keep_policy.h"

#include <algorithm>

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

double KeepPolicy::saved(const Hash128& id, double seconds) const {
  if (!next_use_) return seconds;
  const std::optional<double> ahead = next_use_(id);
  return ahead ? seconds / (1 + std::max(*ahead, 0.0)) : 0;
}

std::optional<std::vector<Hash128>> KeepPolicy::exchange(const Hash128& id, uint64_t bytes, double seconds) const {
  const double gain = saved(id, seconds);
  std::vector<std::pair<double, Hash128>> candidates;
  for (auto it = by_worth_.begin(); it != by_worth_.end() && candidates.size() < kLookedAt; ++it) {
    const Kept& entry = kept_.at(it->second);
    candidates.emplace_back(saved(it->second, entry.seconds) / static_cast<double>(entry.bytes + 1), it->second);
  }
  std::ranges::sort(candidates, Cheapest());
  std::vector<Hash128> victims;
  uint64_t freed = 0;
  double lost = 0;
  for (const auto& [worth, victim] : candidates) {
    if (freed >= bytes) break;
    const Kept& entry = kept_.at(victim);
    freed += entry.bytes;
    lost += saved(victim, entry.seconds);
    victims.push_back(victim);
    if (gain <= kWorthwhile * lost) return std::nullopt;
  }
  if (freed < bytes || victims.empty()) return std::nullopt;
  return victims;
}

}  // namespace forebay
