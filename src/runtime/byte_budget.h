#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/kept_bytes.h"
#include "runtime/fork_guard.h"

namespace forebay {

/// What memory is used for. The last four are kept beside what a loader takes for its batches: what its data set knows of itself, and
/// what the process keeps for all loaders (entries of caches, idle memory of stores and of column decoders).
enum class Use : uint8_t { kBatches, kFetched, kWorking, kPool, kChunks, kIndex, kCaches, kReads, kColumns };
constexpr size_t kUses = 9;

/// Bytes that may be held between storage and the user, by use. All methods are safe from any thread; none waits.
///
/// What is kept beside (KeptBytes) belongs to others, too: each loader that uses it counts it in full, as if it were alone, so that
/// no loader's sum says less than there is.
class ByteBudget {
 public:
  struct Snapshot {
    uint64_t capacity = 0, used = 0, peak = 0;  ///< `used` is the sum of `by_use`
    uint64_t idle = 0;                          ///< of `used`: kept beside, for whoever wants it back
    uint64_t set_aside = 0;                     ///< beyond `used`: for entries that are still to come
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

  enum class Beside : uint8_t { kIdle, kEntries };
  /// From now on these bytes count, `most` of them at most. Idle ones are anybody's who takes memory; entries of a cache are worth
  /// something, and go for the oldest element alone. So many as they may become are `set_aside` before they are there: who takes these has to
  /// give way when entries come, or the entries do, again and again.
  void count(Use use, std::shared_ptr<KeptBytes> kept, Beside kind, uint64_t most = UINT64_MAX, uint64_t set_aside = 0);
  /// Has so many given back of what is kept beside, as far as they lack; for the oldest element what is set aside is lent before an entry goes, until
  /// as much has been released. True where anything was.
  bool make_room(Beside kind, uint64_t bytes);
  /// Nothing beside counts any more, and nothing of it is held on to.
  void forget_beside();

 private:
  struct Counted {
    Use use;
    Beside kind;
    uint64_t most;
    uint64_t set_aside;
    std::shared_ptr<KeptBytes> kept;
    uint64_t bytes() const { return std::min(kept->bytes(), most); }
  };
  // With the lock held:
  uint64_t beside() const;
  uint64_t not_yet_there() const;  // of what is set aside
  uint64_t set_aside() const;      // of that, what is not lent

  const uint64_t generation_;
  mutable std::mutex mutex_;
  uint64_t capacity_;
  uint64_t used_ = 0, peak_ = 0, lent_ = 0;
  std::array<uint64_t, kUses> by_use_{};
  std::vector<Counted> counted_;
};

}  // namespace forebay
