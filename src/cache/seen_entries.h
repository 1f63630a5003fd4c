#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "base/mutex.h"
#include "cache/hash_map.h"

namespace forebay {

/// Counts distinct entries that were looked up, in bounded memory. Exact up to kSample; beyond that
/// an estimate from the ids in the lowest 2^-n of all ids, a fair sample because ids are hashes.
/// Methods may be called from any thread.
class SeenEntries {
 public:
  static constexpr size_t kSample = 8192;

  void add(const Hash128& id) {
    const Lock lock(mutex_);
    if (!sampled(id)) return;
    ids_.insert(id);
    while (ids_.size() > kSample) {
      ++halvings_;
      std::erase_if(ids_, [this](const Hash128& each) FOREBAY_REQUIRES(mutex_) { return !sampled(each); });
    }
  }
  uint64_t count() const {
    const Lock lock(mutex_);
    return static_cast<uint64_t>(ids_.size()) << halvings_;
  }

 private:
  bool sampled(const Hash128& id) const FOREBAY_REQUIRES(mutex_) {
    return halvings_ == 0 || id.high >> (64 - halvings_) == 0;
  }

  mutable Mutex mutex_;
  std::unordered_set<Hash128, HashOfHash> ids_ FOREBAY_GUARDED_BY(mutex_);
  unsigned halvings_ FOREBAY_GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay
