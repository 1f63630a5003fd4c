#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/entry_cache.h"
#include "base/source.h"
#include "telemetry/step_counters.h"

namespace forebay {

class BatchJob;

/// Fields of a record in addition to those of the schema, which user code made.
using Extras = std::vector<std::pair<std::string, Value>>;

/// A read that returns the version of a row's object. The key of an entry may depend on it.
struct VersionQuery {
  SampleSource::Fetch fetch;
  /// Called with the bytes that were read, and with the version that the store gave (0 if none).
  std::function<void(uint64_t version, const Buffer& bytes)> on_read;
};

/// The keys of a keyed stage's entries: the key of a row's result, or none if the result is not
/// looked up or not stored. A row is given by its batch; its sample may be a replacement. RowWork
/// calls it, from any thread.
///
/// Every implementation has lookup_key() and store_key(). The other methods are optional, and are of
/// three groups: entries that tasks and hosts share, versions that only a read tells, and
/// notifications.
class StageKeys {
 public:
  virtual ~StageKeys() = default;
  /// The key to look up. Nothing if the key is not known, or if such rows are not looked up.
  virtual std::optional<Identity> lookup_key(const BatchJob& batch, int64_t row) const = 0;
  /// The key to store a new result under. Nothing if it is not stored. `version` is that of the
  /// object that was read, if versions are learned from reads; it is 0 if the store gave none.
  virtual std::optional<Identity> store_key(const BatchJob& batch, int64_t row,
                                            std::optional<uint64_t> version) const = 0;

  // Sharing of entries with other tasks and hosts:

  /// The key of the entry's SingleFlight. Nothing if several tasks may make the same entry.
  virtual std::optional<Hash128> flight_key(const BatchJob&, int64_t /*row*/) const { return std::nullopt; }
  /// Whether peers have the entry under the same key.
  virtual bool peers_know(const Identity&) const { return false; }

  // Versions that only a read tells:

  /// Whether store_key() needs the version of the object that is read.
  virtual bool learns_versions() const { return false; }
  /// If lookup_key() knows no key: a read after which it does. Nothing if there is no such read.
  virtual std::optional<VersionQuery> version_query(const BatchJob&, int64_t /*row*/) const { return std::nullopt; }

  // Notifications:

  /// Called after the row's result was stored under that key.
  virtual void on_stored(const BatchJob&, int64_t /*row*/, const Identity&) const {}
  /// Called once for each row that has passed the stage because no entry was found.
  virtual void on_computed(const BatchJob&, int64_t /*row*/) const {}
  /// Counter that changes when there may be new entries for rows whose look-up missed. These rows
  /// are then looked up again. Always 0 if rows are looked up once.
  virtual uint64_t arrivals() const { return 0; }
};

/// A stage that stores results of the stages before it: a `.cache()`, or the stage at which
/// replayed samples re-enter. An entry holds one sample. Fields that the source has without a read
/// (labels, paths) are not in the entry but are loaded from the source again, since they may change
/// while the object does not. It is part of an BranchPlan, and any number of compute threads use
/// it.
struct KeyedStage {
  std::string name;                   ///< name of the step in messages
  std::shared_ptr<EntryCache> cache;  ///< null if nothing is stored
  std::shared_ptr<const StageKeys> keys;
  /// Flights of entries that tasks of this process are making. Null if several may make the same
  /// entry.
  std::shared_ptr<SingleFlight> flights = {};
  Schema schema;  ///< schema of the record at this stage
  /// The part of a zip whose fields the entry has; empty if it has those of the whole sample.
  std::string part = {};
  /// The first stage that an entry replaces: 0, or the first one of the part.
  size_t begin = 0;
  /// The object of the sample, by its number among those that are read, that an entry of the part
  /// replaces. Nothing if none of the part is read.
  std::optional<size_t> object = {};
  /// For each field of the schema, the field of the record before stage `begin` that is the same: a
  /// field of the source, or of another part. Nothing if it is in the entry.
  std::vector<std::optional<size_t>> from_before;
  /// For each field of the schema, whether it is in the entry. A field in neither list is not
  /// needed.
  std::vector<bool> in_entry;
  /// A step before this stage selects fields, which drops the extra fields.
  bool drops_extras = false;
  bool marks_replayed = false;  ///< adds a field that tells whether the sample is replayed
  std::shared_ptr<StepCounters> counters = std::make_shared<StepCounters>();

  /// Stores a sample if the cache has space for it. All values must have been computed. `seconds`
  /// is the time that making the sample took.
  void store(const Identity& entry, const Record& record, const Extras& extras, double seconds, int64_t id) const;
  /// Makes the record before stage `begin` the one that left the stages before this one. Values
  /// that have to be read may be missing in it.
  Status restore(const Columns& entry, Record& record, Extras& extras) const;
  /// True if restore() needs fields of the record before.
  bool needs_before() const;
};

}  // namespace forebay
