#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/columns.h"
#include "base/hash.h"
#include "base/read_request.h"
#include "base/single_flight.h"

namespace forebay {

class Store;

/// Tiers that may hold an entry. An entry that only this process can validate must stay in memory.
enum class KeepIn : uint8_t { kAnyTier, kMemory };

/// An entry of a cache: its key, and the chunk or sample that it belongs to.
struct EntryRef {
  EntryRef(const Hash128& entry) : key(entry) {}  // NOLINT(google-explicit-constructor)
  EntryRef(const Hash128& entry, int64_t number, bool peers = false) : key(entry), element(number), peers_know(peers) {}

  Hash128 key;
  /// Number of the chunk or sample that the entry was made from, from which a job computes its
  /// owner; -1 if there is none.
  int64_t element = -1;
  /// Whether the key is the same on all hosts of the job, so that peers may be asked for the entry.
  bool peers_know = false;
};

/// Cache of what the steps before a `.cache()` compute. An entry holds the columns of one chunk, or
/// of one sample (one row). An object of this class serves one `.cache()` of one pipeline. Its
/// entries may be shared with other loaders and processes.
///
/// Every method may be called from any thread. find(), has() and try_admit() never wait for another
/// thread or for a peer, but after a miss find() may read index files of the cache folder, at most ten times a
/// second. put() may write.
class EntryCache {
 public:
  struct Found {
    std::shared_ptr<const Columns> columns;  ///< set if the entry is in memory
    /// Otherwise: the store from which `request` reads the entry's bytes, for open().
    Store* store = nullptr;
    ReadRequest request;
  };

  virtual ~EntryCache() = default;
  /// Finds the entry in the nearest tier that has it. If another host may have it, `request` has no
  /// expected size but an initial `set_aside_bytes`. A peer that turns out not to have the entry
  /// gives no bytes.
  virtual std::optional<Found> find(const EntryRef& entry) = 0;
  /// A request to another host of the job for what it has learned of the version of sample `id`;
  /// `name` is LearnedVersions::name(id). Pass the bytes to version_of(). Empty if there is no host
  /// to ask, or if one was just asked without success.
  virtual std::optional<Found> find_version(const Hash128& /*name*/, int64_t /*id*/) { return std::nullopt; }
  /// Extracts the argument of LearnedVersions::learn_from_peer() from the bytes that
  /// find_version()'s request gave. Empty if the host does not know the version.
  virtual std::optional<uint64_t> version_of(const Hash128& /*name*/, const Buffer& /*stored*/) { return std::nullopt; }
  /// Flights of the entries that this process is making now. Null if an entry may be made twice.
  virtual std::shared_ptr<SingleFlight> flights() { return nullptr; }
  /// Whether the entry is known to be in the cache. Does not count as a use of the entry.
  virtual bool has(const Hash128& entry) const = 0;
  /// Decodes an entry from the bytes that find()'s request gave, and checks length and checksum.
  /// The entry may move to a faster tier. Corrupt if it is damaged: the cache then drops the entry,
  /// and the caller makes it anew. A failed read of `Found::store` gives no bytes instead of an
  /// error, and an entry without bytes counts as damaged.
  virtual Result<std::shared_ptr<const Columns>> open(const Hash128& entry, Buffer stored) = 0;
  /// Returns whether put() would accept an entry of that size, so that the caller can skip the work
  /// for an entry that would be refused. The cache counts the entry in its statistics.
  virtual bool try_admit(const Hash128& entry, uint64_t bytes) const = 0;
  /// Stores the entry if the cache has space for it. An error of the disk switches the disk tier
  /// off with one warning and is not reported to the caller. `seconds` is the time that it took to
  /// make the entry.
  virtual void put(const EntryRef& entry, std::shared_ptr<const Columns> columns, double seconds,
                   KeepIn where = KeepIn::kAnyTier) = 0;
};

}  // namespace forebay
