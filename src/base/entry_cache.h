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

/// Where an entry may be kept: what only this process can know to be right is nothing for a disk.
enum class KeepIn : uint8_t { kAnyTier, kMemory };

/// An entry of a cache: its key, and whose it is.
struct EntryRef {
  EntryRef(const Hash128& entry) : key(entry) {}  // NOLINT(google-explicit-constructor)
  EntryRef(const Hash128& entry, int64_t number, bool peers = false) : key(entry), element(number), peers_know(peers) {}

  Hash128 key;
  int64_t element =
      -1;  ///< number of the chunk or the sample that it is of, by which a job knows whose it is; -1: of none
  bool peers_know = false;  ///< the key is the same on the other hosts of a job, and they may be asked
};

/// Where the engine keeps what the steps before a `.cache()` made: an entry is the columns of one chunk, or of one sample (one
/// row). Made for one place of one pipeline; what it holds may be shared with other loaders and processes.
///
/// Every method may be called from any thread. find(), has() and admits() never wait; put() may write.
class EntryCache {
 public:
  struct Found {
    std::shared_ptr<const Columns> columns;  ///< in memory; or
    Store* store = nullptr;                  ///< where `request` reads the entry's bytes, for open()
    ReadRequest request;
  };

  virtual ~EntryCache() = default;
  /// What the nearest tier has of it. Where another host may have it, `request` has no size but `set_aside_bytes` to begin with,
  /// and what is not there after all is an entry without bytes.
  virtual std::optional<Found> find(const EntryRef& entry) = 0;
  /// Where another host of the job may tell what it has learned of the version of sample `id`, which is called `name`
  /// (LearnedVersions::name). Its bytes are for version_of(). Nothing where nobody can be asked, or was asked in vain just now.
  virtual std::optional<Found> find_version(const Hash128& /*name*/, int64_t /*id*/) { return std::nullopt; }
  /// What LearnedVersions::tell() takes, out of the bytes that find_version()'s request gave. Nothing where the host has not learned it.
  virtual std::optional<uint64_t> version_of(const Hash128& /*name*/, const Buffer& /*stored*/) { return std::nullopt; }
  /// Entries of this place that somebody in the process is making; null where two may make the same.
  virtual std::shared_ptr<SingleFlight> flights() { return nullptr; }
  /// Whether it is there, as far as is known already; no use of it.
  virtual bool has(const Hash128& entry) const = 0;
  /// The entry whose bytes find()'s request gave, checked (length, checksum); it may move to a faster tier. Corrupt where it is
  /// damaged: the entry is gone then, and the caller makes it anew. Reads of that store that fail give no bytes instead of an
  /// error, and an entry without bytes is a damaged one.
  virtual Result<std::shared_ptr<const Columns>> open(const Hash128& entry, Buffer stored) = 0;
  /// Whether put() would keep the entry with that many bytes, so that nobody prepares one in vain.
  virtual bool admits(const Hash128& entry, uint64_t bytes) const = 0;
  /// Keeps the entry if there is room. Trouble with the disk switches that tier off (one warning) and is no error.
  /// `seconds`: what it cost to make.
  virtual void put(const EntryRef& entry, std::shared_ptr<const Columns> columns, double seconds,
                   KeepIn where = KeepIn::kAnyTier) = 0;
};

}  // namespace forebay
