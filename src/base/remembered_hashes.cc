#include "base/remembered_hashes.h"

namespace forebay {

std::optional<Hash128> RememberedHashes::find(int64_t i) const {
  const Slot* const slots = table();
  if (slots == nullptr) return std::nullopt;
  // Relaxed, because every writer stores the same hash: two halves that are present match.
  const Hash128 hash{slots[i].high.load(std::memory_order_relaxed), slots[i].low.load(std::memory_order_relaxed)};
  if (hash.high == 0 || hash.low == 0) return std::nullopt;
  return hash;
}

void RememberedHashes::keep(int64_t i, const Hash128& hash) {
  if (i >= count_) return;
  std::call_once(once_, [this] {
    slots_ = std::make_unique<Slot[]>(static_cast<size_t>(count_));
    published_.store(slots_.get(), std::memory_order_release);
  });
  slots_[static_cast<size_t>(i)].high.store(hash.high, std::memory_order_relaxed);
  slots_[static_cast<size_t>(i)].low.store(hash.low, std::memory_order_relaxed);
}

}  // namespace forebay
