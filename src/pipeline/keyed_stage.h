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

/// Fields beside those of the schema.
using Extras = std::vector<std::pair<std::string, Value>>;

/// Something to be read before it is known by which key a row's result is kept: the version of its object.
struct KeyQuestion {
  SampleSource::Fetch fetch;
  /// Takes the answer: the version that the store told with it (0: none), and the bytes.
  std::function<void(uint64_t version, const Buffer& bytes)> answered;
};

/// The keys by which a keyed stage keeps results, and which rows' results it keeps. A row is one of a batch, with the sample
/// that stands in its place now. Immutable to callers; any thread may call any method.
class StageKeys {
 public:
  virtual ~StageKeys() = default;
  /// The key of what was made of the row's sample before. Nothing where no key is known, or such a row is not looked up.
  virtual std::optional<Identity> find(const BatchJob& batch, int64_t row) const = 0;
  /// The key of what is made of it now; nothing where that is not kept. `version`: of the object that was read for it, where
  /// versions are learned from answers; 0 where the store told none.
  virtual std::optional<Identity> keep(const BatchJob& batch, int64_t row, std::optional<uint64_t> version) const = 0;
  /// The key by which SingleFlight knows that the row's result is being made; nothing where two may make the same.
  virtual std::optional<Hash128> flight(const BatchJob&, int64_t /*row*/) const { return std::nullopt; }
  /// Whether other hosts of the job know the result by the same key.
  virtual bool peers_know(const Identity&) const { return false; }
  /// Whether keep() wants the version of the object that is read.
  virtual bool learns_versions() const { return false; }
  /// Where find() knows no key: what tells it.
  virtual std::optional<KeyQuestion> question(const BatchJob&, int64_t /*row*/) const { return std::nullopt; }
  /// The row's result has been kept under that key.
  virtual void kept(const BatchJob&, int64_t /*row*/, const Identity&) const {}
  /// The row has passed the stage, since nothing of it was there. Once for each row of a batch.
  virtual void made(const BatchJob&, int64_t /*row*/) const {}
  /// Grows when results may have been kept for rows that were looked up in vain, so that these are looked up again; 0 where
  /// rows are looked up once.
  virtual uint64_t arrivals() const { return 0; }
};

/// A place among operators that look at single samples where results are kept under keys: a `.cache()`, or the place where
/// replayed samples come in. An entry is one sample: what the steps before made of it. What the source knows without
/// them (labels, paths) is asked of it again, since it may change while the object does not.
struct KeyedStage {
  std::string name;                   ///< of the step, for people
  std::shared_ptr<EntryCache> cache;  ///< null: nothing is kept
  std::shared_ptr<const StageKeys> keys;
  /// Entries that somebody in the process is making; null where two may make the same.
  std::shared_ptr<SingleFlight> flights = {};
  Schema schema;  ///< of the record at this place
  /// For each field, the field of the source that is it, untouched and known without reading; nothing: it is in the entry.
  std::vector<std::optional<size_t>> from_source;
  std::vector<bool> kept;       ///< of each field, whether it is in the entry; one that is neither is wanted by nobody
  bool forgets_extras = false;  ///< a choice of fields stands between here and the user code before
  bool marks_replayed = false;  ///< the record gets one more field here: whether the row's sample is a replayed one
  std::shared_ptr<StepCounters> counters = std::make_shared<StepCounters>();

  /// Keeps a sample, if there is room. Values must have been computed; `seconds`: what making it cost; `id`: of the sample.
  void keep(const Identity& entry, const Record& record, const Extras& extras, double seconds, int64_t id) const;
  /// The record as it left the steps before.
  Status restore(const Columns& entry, const Source& source, int64_t id, Record& record, Extras& extras) const;
};

}  // namespace forebay
