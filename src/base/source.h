#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/read_request.h"
#include "base/record.h"
#include "base/schema.h"

namespace forebay {

class Store;

/// Identifies the content of a sample in caches.
struct Identity {
  Identity(const Hash128& of, bool lasts = true) : hash(of), lasting(lasts) {}

  Hash128 hash;
  /// Whether the hash identifies the same content in other processes and in later runs. If not, it
  /// is valid only while this source exists, and results made from the sample must not be shared.
  bool lasting;
  friend bool operator==(const Identity&, const Identity&) = default;
};

class LearnedVersions;
class SampleSource;
class ChunkSource;

/// An indexed data set: the number of its samples, and their fields. It is either a SampleSource,
/// whose samples are read one by one, or a ChunkSource (chunk_source.h), whose rows are read many
/// at a time. Immutable once opened; every method may be called from any thread.
class Source {
 public:
  virtual ~Source() = default;

  virtual const Schema& schema() const = 0;
  virtual int64_t size() const = 0;
  /// Changes when the data changes, and is equal on all hosts. It is made of keys and sizes in id
  /// order, never of times of change or inode numbers.
  virtual Hash128 version() const = 0;
  /// Memory of the index (keys, sizes) in bytes.
  virtual uint64_t index_bytes() const = 0;
  /// Name of sample `id` in messages: its key, or "sample 17 of x.npy".
  virtual std::string key(int64_t id) const = 0;
  /// Key of sample `id` within the data set, wherever the data set lies: splits are made by it. The
  /// key stays when samples are added behind it; by default it is the id. Never waits for storage.
  virtual std::string lasting_key(int64_t id) const { return std::to_string(id); }
  /// Identifies the content of sample `id`, independently of the rest of the data set. It is made
  /// of the stored object, its version (ETag; or times of change and inode) and what the index says
  /// of the sample, or of the content itself. Never waits for storage. Empty if the version is
  /// unknown: results made from the sample cannot be cached then.
  virtual std::optional<Identity> identity(int64_t /*id*/) const { return std::nullopt; }

  /// For materialised data: JSON of the steps that made it. Empty for all other sources.
  /// `{"steps": [{"op": …}, …], "order_at": 1}`
  virtual const std::string& steps_before() const {
    static const std::string none;
    return none;
  }

  /// Set if no listing gives the versions of objects. identity() then knows only the versions that
  /// were reported to this object. Null for all other sources.
  virtual const LearnedVersions* learned_versions() const { return nullptr; }
  /// Called once for many samples, after values of the source have been used. Fails if those values
  /// may be wrong because the files that they refer to have changed meanwhile.
  virtual Status check_intact() const { return {}; }

  /// Casts to the two kinds of sources: one of them returns this object, the other one null.
  virtual const SampleSource* as_samples() const { return nullptr; }
  virtual const ChunkSource* as_chunks() const { return nullptr; }
};

/// A source whose samples are read one by one: photographs, files, rows of arrays.
class SampleSource : public Source {
 public:
  /// The read that must finish before load(id). `store` is null if nothing is fetched (arrays). A
  /// request without a key is of a sample without stored bytes, such as an empty list of objects.
  struct Fetch {
    Store* store = nullptr;
    ReadRequest request;
    /// Bytes that the read gives; an estimate if the request has no expected_size.
    uint64_t size = 0;
    /// Further reads of a sample that lies in several objects. They have stores, and no others.
    std::vector<Fetch> others = {};

    /// Bytes of all reads.
    uint64_t total_size() const {
      uint64_t bytes = size;
      for (const Fetch& other : others) bytes += other.size;
      return bytes;
    }
  };
  virtual Fetch fetch(int64_t id) const = 0;

  /// Fills `record` with one value for each field of schema(). `fetched` is empty if no wanted
  /// field has `Field::fetched`; the values of such fields are then left empty.
  virtual Status load(int64_t id, Buffer fetched, Record& record) const = 0;
  /// Like load(), for a sample with Fetch::others: `fetched` has the bytes of all reads, in order.
  virtual Status load_all(int64_t id, std::span<const Buffer> fetched, Record& record) const {
    return load(id, fetched.empty() ? Buffer() : fetched.front(), record);
  }

  /// The same samples, with all fields, for a reader of these alone: fetch() leaves out objects that
  /// only other fields need. Null if that is this source.
  virtual std::shared_ptr<const SampleSource> with_fields(std::span<const std::string> /*names*/) const {
    return nullptr;
  }

  /// Copies one fixed-shape field of many samples to consecutive places at `out`. Requires
  /// `gathers(field)`.
  virtual bool gathers(size_t /*field*/) const { return false; }
  virtual Status gather(size_t /*field*/, std::span<const int64_t> /*ids*/, uint8_t* /*out*/) const { return {}; }
  const SampleSource* as_samples() const final { return this; }
};

/// Versions of the objects of a source without a listing, as far as answers of the store have given
/// them. It lives as long as the source. The hosts of a job share what they learn, so that an
/// object which one host has read is known to the others. Every method may be called from any
/// thread, and none waits.
class LearnedVersions {
 public:
  virtual ~LearnedVersions() = default;
  /// Name of the sample, independent of the version of its object. Caches use it to tell whether
  /// something was ever made from the sample.
  virtual Hash128 name(int64_t id) const = 0;
  /// Returns a request for the version alone (ReadRequest::version_only). Empty if the version is
  /// known, or if an earlier request did not give it.
  virtual std::optional<SampleSource::Fetch> version_request(int64_t id) const = 0;
  /// Records the result of such a request. 0 means that the store gave no version, so the object
  /// has to be read.
  virtual void record_answer(int64_t id, uint64_t version) const = 0;
  /// Records that the bytes of sample `id` that were read have that version. Returns the identity
  /// of the sample, which identity(id) returns from here on. 0 means that the store gives no
  /// versions: the identity is then not lasting, and one warning says so.
  virtual Identity learn(int64_t id, uint64_t version) const = 0;
  /// The version that was learned of sample `id`, to be passed to learn_from_peer() of another
  /// host's source. If the store gives no versions, it is a random number that the source drew when
  /// it read the object and that is valid in this job alone. Empty if nothing was learned.
  virtual std::optional<uint64_t> learned_version(int64_t id) const = 0;
  /// Records learned_version(id) of another host. identity(id) uses it from here on, unless this
  /// source has learned a version itself.
  virtual void learn_from_peer(int64_t id, uint64_t learned) const = 0;
};

}  // namespace forebay
