#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/entry_cache.h"
#include "base/source.h"
#include "plan/rehearsal.h"
#include "telemetry/step_counters.h"

namespace forebay {

/// Fields beside those of the schema.
using Extras = std::vector<std::pair<std::string, Value>>;

/// An entry's key: what was kept at this place of the stored data with that identity.
Hash128 entry_key(const Hash128& place, const Hash128& identity);

/// The key of what was made of a sample while it was new, where a rehearsal keeps that.
Hash128 entry_of_old(const KeptSample& sample);

/// The place of a `.cache()` among operators that look at single samples. An entry is one sample: what the steps before made of its
/// stored bytes. What the source knows without them (labels, keys) is asked of it again, since it may change while the object does not.
struct CacheStage {
  std::shared_ptr<EntryCache> cache;
  Hash128 place;
  Schema schema;  ///< of the record at this place
  /// For each field, the field of the source that is it, untouched and known without reading; nothing: it is in the entry.
  std::vector<std::optional<size_t>> from_source;
  std::vector<bool> kept;       ///< of each field, whether it is in the entry; one that is neither is wanted by nobody
  bool forgets_extras = false;  ///< a choice of fields stands between here and the user code before
  std::shared_ptr<StepCounters> counters = std::make_shared<StepCounters>();

  /// What the cache knows the sample by. Nothing where the source knows no version of its object (yet).
  std::optional<Identity> entry(const Source& source, int64_t id) const;
  /// The same of one that was made of an object of that version (LearnedVersions::learn).
  Identity entry_of(const Source& source, int64_t id, uint64_t version) const;
  /// The same of one of whose object nothing is read.
  Identity entry_of_unread(const LearnedVersions& versions, int64_t id) const;
  /// Whether something was made of the sample's object before, perhaps of another version.
  bool made_before(const LearnedVersions& versions, int64_t id) const;
  /// So that it will be known.
  void note_made(const LearnedVersions& versions, int64_t id, const Identity& entry) const;
  /// What there is of the sample `id`, here or, where `asks_others`, with another host.
  std::optional<EntryCache::Found> find(const Identity& entry, int64_t id, bool asks_others) const;
  /// Keeps a sample, if there is room. Values must have been computed; `seconds`: what making it cost; `id`: of the sample, if its entry
  /// may be asked for by other hosts.
  void keep(const Identity& entry, const Record& record, const Extras& extras, double seconds, int64_t id = -1) const;
  /// By which SingleFlight knows that the sample's entry is being made. Of samples whose versions are learned it is their name, since the version is
  /// known only when the object has been read.
  std::optional<Hash128> flight_key(const Source& source, int64_t id) const;
  /// The record as it left the steps before.
  Status restore(const Columns& entry, const Source& source, int64_t id, Record& record, Extras& extras) const;
};

}  // namespace forebay
