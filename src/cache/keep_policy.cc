#include "cache/keep_policy.h"

namespace forebay {

void KeepPolicy::insert(const Hash128& id, uint64_t bytes, double seconds) {
  erase(id);
  const Entry entry{bytes, seconds};
  entries_.emplace(id, entry);
  by_value_.emplace(value_per_byte(entry), id);
}

void KeepPolicy::erase(const Hash128& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  by_value_.erase({value_per_byte(found->second), id});
  entries_.erase(found);
}

std::optional<Hash128> KeepPolicy::least_valuable() const {
  return by_value_.empty() ? std::nullopt : std::optional(by_value_.begin()->second);
}

std::optional<std::vector<Hash128>> KeepPolicy::choose_victims(uint64_t bytes, double seconds) const {
  std::vector<Hash128> victims;
  uint64_t freed = 0;
  double lost = 0;
  for (auto it = by_value_.begin(); it != by_value_.end() && freed < bytes && victims.size() < kMaxVictims; ++it) {
    const Entry& entry = entries_.at(it->second);
    freed += entry.bytes;
    lost += entry.seconds;
    victims.push_back(it->second);
    // Checked inside the loop: the sum only grows, so it ends at the first entry that is too much.
    if (seconds <= kReplacementGain * lost) return std::nullopt;
  }
  if (freed < bytes || victims.empty()) return std::nullopt;
  return victims;
}

}  // namespace forebay
