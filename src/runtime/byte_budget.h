#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "runtime/fork_guard.h"

namespace forebay {

/// What memory is used for.
enum class Use : uint8_t { kBatches, kFetched, kWorking, kPool, kUnits };
constexpr size_t kUses = 5;

/// Bytes that may be held between storage and the user, by use. All methods are safe from any thread; none waits.
class ByteBudget {
 public:
  struct Snapshot {
    uint64_t capacity = 0, used = 0, peak = 0;
    std::array<uint64_t, kUses> by_use{};
  };

  explicit ByteBudget(uint64_t capacity) : generation_(process_generation()), capacity_(capacity) {}

  uint64_t capacity() const;
  /// Where more is held than that, nothing new fits before so much has been given back.
  void set_capacity(uint64_t capacity);
  /// False, and nothing taken, where it does not fit.
  bool try_charge(Use use, uint64_t bytes);
  /// Counts bytes that exist already (made by user code); may go beyond the capacity, and then nothing else fits.
  void charge_existing(Use use, uint64_t bytes);
  void release(Use use, uint64_t bytes);
  /// The same bytes, for something else from now on.
  void move(Use from, Use to, uint64_t bytes);
  Snapshot snapshot() const;

 private:
  const uint64_t generation_;
  mutable std::mutex mutex_;
  uint64_t capacity_;
  uint64_t used_ = 0, peak_ = 0;
  std::array<uint64_t, kUses> by_use_{};
};

}  // namespace forebay
