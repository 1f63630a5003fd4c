#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/read_request.h"
#include "base/record.h"
#include "base/schema.h"

namespace forebay {

class Store;

/// What a cache knows the content of a sample by.
struct Identity {
  Identity(const Hash128& of, bool lasts = true) : hash(of), lasting(lasts) {}

  Hash128 hash;
  /// Whether it says the same in other processes and in later runs. If not, it holds for this source while it lives: nothing that is made of
  /// the sample may be found by others.
  bool lasting;
  friend bool operator==(const Identity&, const Identity&) = default;
};

class LearnedVersions;
class SampleSource;
class ChunkSource;

/// An indexed data set: how many samples there are and what is in them. It is either a SampleSource, whose samples are read one by
/// one, or a ChunkSource (chunk_source.h), whose rows are read many together. Immutable once opened; every method may be called from any
/// thread.
class Source {
 public:
  virtual ~Source() = default;

  virtual const Schema& schema() const = 0;
  virtual int64_t size() const = 0;
  /// Changes when the data changes; hosts agree on it (keys and sizes in id order, never mtime or inode).
  virtual Hash128 version() const = 0;
  /// Memory of the index itself (keys, sizes).
  virtual uint64_t index_bytes() const = 0;
  /// What messages call sample `id`: its key, or "sample 17 of x.npy".
  virtual std::string key(int64_t id) const = 0;
  /// What identifies the content of sample `id` whatever else is in the data set: its object with its version (ETag; or times of
  /// change and inode), and what the index says of it; or the content itself. Never waits for storage. Nothing where no version is known: then nothing made of it can be
  /// kept for later.
  virtual std::optional<Identity> identity(int64_t /*id*/) const { return std::nullopt; }

  /// Of materialised data: the steps that made it, as JSON (`{"steps": [{"op": …}, …], "order_at": 1}`). Empty for all others.
  virtual const std::string& steps_before() const {
    static const std::string none;
    return none;
  }

  /// Where no listing tells the versions of objects: identity() knows those of which it was said here. Null elsewhere.
  virtual const LearnedVersions* learned_versions() const { return nullptr; }
  /// Asked when values of the source have been used, once for many samples: an error where they may be wrong, because the files that they
  /// refer to have changed meanwhile.
  virtual Status check_intact() const { return {}; }

  /// This source, as the one of the two kinds that it is; null as the other one.
  virtual const SampleSource* as_samples() const { return nullptr; }
  virtual const ChunkSource* as_chunks() const { return nullptr; }
};

/// A source whose samples are read one by one: photographs, files, rows of arrays.
class SampleSource : public Source {
 public:
  /// What must be read before load(id). `store` is null where nothing is fetched (arrays).
  struct Fetch {
    Store* store = nullptr;
    ReadRequest request;
    uint64_t size = 0;  ///< bytes the read gives; a guess where the request has no expected_size
  };
  virtual Fetch fetch(int64_t id) const = 0;

  /// Fills `record` (one value per field of schema()). `fetched` is empty when no wanted field is `Field::fetched`; the
  /// values of such fields are then left empty.
  virtual Status load(int64_t id, Buffer fetched, Record& record) const = 0;

  /// Copies one fixed-shape field of many samples to consecutive places at `out`. Only where `gathers(field)`.
  virtual bool gathers(size_t /*field*/) const { return false; }
  virtual Status gather(size_t /*field*/, std::span<const int64_t> /*ids*/, uint8_t* /*out*/) const { return {}; }
  const SampleSource* as_samples() const final { return this; }
};

/// What a source of objects without a listing knows of their versions: what answers of their store said, for as long as the source
/// lives. The hosts of a job share it, so that an object that one of them has read is known to the others. Every method may be called
/// from any thread, and none waits.
class LearnedVersions {
 public:
  virtual ~LearnedVersions() = default;
  /// What the sample is called, whatever version its object has: a sign that something was made of it once.
  virtual Hash128 name(int64_t id) const = 0;
  /// Asks for the version alone (ReadRequest::version_only). Nothing where that was learned, or was asked in vain.
  virtual std::optional<SampleSource::Fetch> ask(int64_t id) const = 0;
  /// What such an answer said; 0: nothing, so the object has to be read.
  virtual void answered(int64_t id, uint64_t version) const = 0;
  /// What the sample is known by that was made of bytes of that version; identity(id) from here on. 0: the store does not tell versions, so that it
  /// does not last, and a warning says so once.
  virtual Identity learn(int64_t id, uint64_t version) const = 0;
  /// What was learned of sample `id`, for tell() of another host's source: a version or, where the store tells none, a random number of
  /// the source that read the object, which holds in this job alone. Nothing where nothing was learned.
  virtual std::optional<uint64_t> learned(int64_t id) const = 0;
  /// What another host has learned: identity(id) from here on, unless this source has learned something itself.
  virtual void tell(int64_t id, uint64_t learned) const = 0;
};

}  // namespace forebay
