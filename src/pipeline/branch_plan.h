#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/byte_count.h"
#include "base/source.h"
#include "format/joined/stores_of.h"
#include "pipeline/block_rows.h"
#include "pipeline/chunk_plan.h"
#include "pipeline/keyed_stage.h"
#include "pipeline/record_op.h"
#include "pipeline/selection.h"
#include "telemetry/step_counters.h"
#include "telemetry/trace.h"

namespace forebay {

/// One operator that runs on compute threads.
struct NativeOp {
  std::string name;
  std::unique_ptr<RecordOp> op;
  std::shared_ptr<StepCounters> counters;
};

/// Operators that follow each other without leaving the compute thread.
struct NativeStage {
  std::vector<NativeOp> ops;
};

/// A call of user code outside the engine, per sample.
struct ForeignStage {
  std::string name;
  size_t step = 0;  ///< index in the description of the branch
  /// Number of the step in the whole pipeline, which decides the function to call.
  size_t number = 0;
  uint32_t random_index = 0;
  bool merge = false;  ///< the answer is added to the record; otherwise it replaces it
  /// The part of a zip that the function works in (OpSpec::part). Its fields have their own names in
  /// `input_schema` and in the answer.
  std::string part = {};
  /// The field of the record before the function for each field of `output_schema`, if that passes
  /// through where the answer lacks it. Empty: by index if `merge` is set.
  std::vector<std::optional<size_t>> passing = {};
  bool takes_all = false;  ///< the function also gets the extra fields of earlier user code
  /// A step before this one selects fields, which drops the extra fields.
  bool drops_extras = false;
  /// Pairs of field names. If the answer lacks the first field, the second one is used in its
  /// place.
  std::vector<std::pair<std::string, std::string>> substitutes;
  /// Names that later steps give to fields of their own, each with the name of that step. An answer
  /// with an extra field of such a name is an error.
  std::vector<std::pair<std::string, std::string>> later_names;
  std::vector<size_t> inputs;  ///< fields of the record that the function gets
  Schema input_schema;         ///< schema of those fields
  Schema output_schema;        ///< schema of the record afterwards; kAny fields are found by name
  std::shared_ptr<StepCounters> counters;
};

using Stage = std::variant<NativeStage, ForeignStage, KeyedStage>;

/// One field of the finished batch.
struct OutputField {
  Field field;
  /// Bytes of one row, if the plan knows its shape. Such rows are written directly into the batch.
  std::optional<size_t> row_bytes;
  /// The source copies rows of its field `source_field` directly into the batch.
  bool gathered = false;
  size_t source_field = 0;
  /// User code may give another type or shape than `field` says, the same in all rows of a batch.
  bool may_differ = false;
};

/// The way from one source to the batch, compiled: everything is decided and nothing is started. It
/// is immutable and shared by all threads of the run. An ExecutionPlan consists of one or more.
struct BranchPlan {
  std::shared_ptr<const Source> source;
  /// The source, if there are no `chunks`.
  const SampleSource& samples() const { return *source->as_samples(); }
  std::shared_ptr<const Selection> selection;
  uint64_t seed = 0;
  /// Names of the parts of a mix that the branch lies in, joined by "/". Empty if it is the only
  /// one.
  std::string name = {};
  /// Name of a sample in messages.
  std::string name_of(int64_t id) const { return (name.empty() ? "" : name + ": ") + source->key(id); }
  /// How chunks become rows. Null for sources that are read sample by sample. Otherwise the first
  /// of `stages` gets rows of `chunks->packed`.
  std::shared_ptr<const ChunkPlan> chunks;
  /// Indices of the keyed stages in `stages`, in the order of look-ups: the last stage first, since
  /// its entries save the most work.
  std::vector<size_t> keyed = {};
  const KeyedStage& keyed_stage(size_t at) const { return std::get<KeyedStage>(stages[at]); }
  /// Number of stages, from the first on, in which replayed samples draw the random numbers that
  /// they drew when they were new.
  size_t stages_when_new = 0;
  /// Whether an output needs the bytes of the stored object.
  bool fetches = false;
  std::vector<Stage> stages;
  /// Working memory that the operators of `stages` need at most for one sample, as far as shapes
  /// are known.
  uint64_t working_bytes = 0;
  Schema output_schema;
  /// Set if sequences are packed. The outputs are then rows of numbers, which go into blocks.
  std::optional<PackingStep> packing = {};
  /// Names of the fields that are packed, and of those that bound blocks, if user code may add
  /// others, which packing would lose. Empty otherwise.
  std::vector<std::string> packed_fields = {}, limited_fields = {};
  /// Name of the field that marks replayed samples, if these pass all stages again. Empty
  /// otherwise.
  std::string rehearsed_field = {};
  std::vector<OutputField> outputs;
  /// True if the rows of a batch become fields. Otherwise each stays a sample of its own, for user
  /// code that gets the samples of a batch; no output has a row size then.
  bool stacks_rows = true;
  /// For each output, its index in the outputs of the whole plan. Empty if that is the same.
  std::vector<size_t> batch_outputs = {};
  size_t batch_output(size_t output) const { return batch_outputs.empty() ? output : batch_outputs[output]; }
  std::shared_ptr<StepCounters> fetch_counters = std::make_shared<StepCounters>();
  /// Counters of the last step, which writes rows into the batch. Deferred work (decode, resize, …)
  /// is done and counted there.
  std::shared_ptr<StepCounters> write_counters = std::make_shared<StepCounters>();
  /// Turns a trace of the run on and off.
  std::shared_ptr<TraceSwitch> trace = std::make_shared<TraceSwitch>();
  /// CPU time of rows in `stages` and in writing. StepCounters::measured divides it among the
  /// steps.
  std::shared_ptr<RowCounters> row_counters = std::make_shared<RowCounters>();

  /// Bytes of one batch of `rows` rows in its fixed-shape fields.
  uint64_t batch_bytes(int64_t rows) const {
    ByteCount bytes;
    for (const OutputField& output : outputs)
      bytes += ByteCount(output.row_bytes.value_or(0)) * static_cast<uint64_t>(rows);
    return bytes.value();
  }
  /// Whether a stage stores results for replayed samples.
  bool replays() const {
    return std::ranges::any_of(keyed, [this](size_t at) { return keyed_stage(at).marks_replayed; });
  }
  /// Upper bound of the number of entries in the plan's caches.
  uint64_t cache_entries() const {
    if (chunks) return chunks->cache ? static_cast<uint64_t>(chunks->source->chunks()) : 0;
    return (keyed.size() - (replays() ? 1 : 0)) * static_cast<uint64_t>(selection->size());
  }
  /// The store of the data set, or of its first objects. Null if nothing is fetched.
  Store* store() const {
    const std::vector<Store*> all = stores();
    return all.empty() ? nullptr : all.front();
  }
  /// All stores of the data set: several if its samples lie in objects of several.
  std::vector<Store*> stores() const {
    if (!chunks && fetches && selection->size() > 0) return stores_of(samples(), selection->id_at(0));
    Store* const store = chunks && chunks->source->chunks() > 0 ? chunks->source->chunk_fetch(0).store : nullptr;
    return store != nullptr ? std::vector<Store*>{store} : std::vector<Store*>();
  }
  bool has_foreign() const {
    for (const Stage& stage : stages) {
      if (std::holds_alternative<ForeignStage>(stage)) return true;
    }
    return false;
  }
  /// Whether the source is a data set of the user's, whose function makes the samples.
  bool starts_with_user_code() const {
    const auto* first = stages.empty() ? nullptr : std::get_if<ForeignStage>(&stages.front());
    return first != nullptr && first->step == 0;
  }
  /// Whether the source copies the rows of all fields itself, so that no stage runs.
  bool gathers_only() const {
    if (chunks) return false;
    for (const OutputField& output : outputs) {
      if (!output.gathered) return false;
    }
    return !fetches && !outputs.empty();
  }
  /// Counts rows of such a plan that took so long to copy.
  void count_gathered(int64_t rows, int64_t cpu_ns) const {
    uint64_t bytes = 0;
    for (const OutputField& output : outputs) bytes += *output.row_bytes * static_cast<uint64_t>(rows);
    write_counters->add(rows, bytes, bytes, cpu_ns);
  }
};

}  // namespace forebay
