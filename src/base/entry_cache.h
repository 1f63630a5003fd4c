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

/// Where the engine keeps what the steps before a `.cache()` made: an entry is the columns of one chunk, or of one sample (one
/// row). Made for one place of one pipeline; what it holds may be shared with other loaders and processes.
///
/// Every method may be called from any thread. find(), find_of(), has() and admits() never wait; put() may write.
class EntryCache {
 public:
  struct Found {
    std::shared_ptr<const Columns> columns;  ///< in memory; or
    Store* store = nullptr;                  ///< where `request` reads the entry's bytes, for open()
    ReadRequest request;
  };

  virtual ~EntryCache() = default;
  virtual std::optional<Found> find(const Hash128& entry) = 0;
  /// The same, also where it may be with somebody else: `element`, the number of the chunk or the sample, says with whom. `request` has no
  /// size then, but `set_aside_bytes` to begin with, and what is not there after all is an entry without bytes. Only for identities that hold in other processes,
  /// too.
  virtual std::optional<Found> find_of(const Hash128& entry, int64_t /*element*/) { return find(entry); }
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
  /// An old sample of a rehearsal was in no find(), and so has been made again; for who counts that.
  virtual void note_made_again() {}
  /// Grows with what is put, so that who found nothing looks again only when there may be something; for what is kept of rehearsals.
  virtual uint64_t puts() const { return 0; }
  /// Whether it is an entry that may be kept, and is not there.
  virtual bool wants(const Hash128& /*entry*/) const { return true; }
  /// Whether put() would keep an entry of that many bytes, so that nobody prepares one in vain.
  virtual bool admits(uint64_t bytes) const = 0;
  /// Keeps the entry if there is room. Trouble with the disk switches that tier off (one warning) and is no error.
  /// `seconds`: what it cost to make. `element`: the number of the chunk or the sample, if the entry is of one.
  virtual void put(const Hash128& entry, std::shared_ptr<const Columns> columns, double seconds,
                   KeepIn where = KeepIn::kAnyTier, int64_t element = -1) = 0;
};

}  // namespace forebay
