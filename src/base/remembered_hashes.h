#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/hash.h"

namespace forebay {

/// Cache of hashes that are expensive to compute, for the numbers [0, count). It allocates sixteen
/// bytes for each number when the first hash is stored, and stores nothing if there are more than
/// `most` numbers. Methods may be called from any thread, and none waits.
class RememberedHashes {
 public:
  static constexpr int64_t kMost = int64_t{1} << 20;
  explicit RememberedHashes(int64_t count, int64_t most = kMost) : count_(count <= most ? count : 0) {}

  /// Returns the hash of a number; empty if none was stored.
  std::optional<Hash128> find(int64_t i) const;
  /// Stores a hash. Callers that store the same number twice must store the same hash.
  void keep(int64_t i, const Hash128& hash);
  uint64_t bytes() const { return table() != nullptr ? static_cast<uint64_t>(count_) * sizeof(Slot) : 0; }

 private:
  struct Slot {
    std::atomic<uint64_t> high{0}, low{0};  ///< 0: absent (a hash with such a half is never found)
  };
  const Slot* table() const { return published_.load(std::memory_order_acquire); }

  const int64_t count_;
  std::once_flag once_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<Slot*> published_{nullptr};
};

}  // namespace forebay
