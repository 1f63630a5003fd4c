#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/source.h"
#include "pipeline/block_rows.h"
#include "pipeline/chunk_plan.h"
#include "pipeline/keyed_stage.h"
#include "pipeline/operator.h"
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
  size_t step = 0;  ///< index in the description
  uint32_t random_index = 0;
  bool merge = false;           ///< what comes out is added to the record; otherwise it replaces it
  bool takes_all = false;       ///< what earlier user code made and nobody named goes in, too
  bool forgets_extras = false;  ///< but not here: a choice of fields stands between
  /// Where it does not give the first of these fields, the second is taken for it.
  std::vector<std::pair<std::string, std::string>> substitutes;
  /// Names that steps behind it give to other fields, and these steps: it must not make such fields unasked.
  std::vector<std::pair<std::string, std::string>> later_names;
  std::vector<size_t> inputs;  ///< fields of the record that go in
  Schema input_schema;         ///< of those fields
  Schema output_schema;        ///< of the record afterwards; kAny fields are looked up by name in what came out
  std::shared_ptr<StepCounters> counters;
};

using Stage = std::variant<NativeStage, ForeignStage, KeyedStage>;

/// One field of the finished batch.
struct OutputField {
  Field field;
  /// Bytes of one row, where its shape is known before: such rows are written straight into the batch.
  std::optional<size_t> row_bytes;
  /// The source copies rows of this field itself, straight from its field `source_field`.
  bool gathered = false;
  size_t source_field = 0;
  /// User code may have put another type or shape in its place, alike in all rows of a batch.
  bool may_differ = false;
};

/// Which samples of the source take part, and under which number the order knows them. Immutable.
class Selection {
 public:
  virtual ~Selection() = default;
  virtual int64_t size() const = 0;
  /// id in the source of the `index`-th sample that takes part.
  virtual int64_t id_at(int64_t index) const = 0;
  /// The same for many at once, in place.
  virtual void ids_at(std::span<int64_t> indices) const {
    for (int64_t& index : indices) index = id_at(index);
  }
};

/// What the runner runs: everything decided, nothing started. Immutable, shared by all threads.
struct ExecutionPlan {
  std::shared_ptr<const Source> source;
  const SampleSource& samples() const { return *source->as_samples(); }  ///< only where there are no `chunks`
  std::shared_ptr<const Selection> selection;
  uint64_t seed = 0;
  /// For sources whose rows come many at a time: how chunks become rows. `stages` then begin with rows of `chunks->packed`.
  std::shared_ptr<const ChunkPlan> chunks;
  /// Which of `stages` are keyed, the last first: what it has needs the fewest steps.
  std::vector<size_t> keyed = {};
  const KeyedStage& keyed_stage(size_t at) const { return std::get<KeyedStage>(stages[at]); }
  /// Replayed samples have the random numbers of when they were new in this many stages, the first ones; 0: in none.
  size_t stages_when_new = 0;
  /// Some wanted field needs the stored object's bytes.
  bool fetches = false;
  std::vector<Stage> stages;
  /// What the operators of `stages` take at most to compute one sample, as far as shapes are known before.
  uint64_t working_bytes = 0;
  Schema output_schema;
  /// Where sequences are packed: the only output is a row of numbers, which goes into blocks.
  std::optional<PackingStep> packing = {};
  /// Where a field is packed of samples that may have others, which user code made unasked: its name. Empty elsewhere.
  std::string packed_field = {};
  /// Where old samples pass all stages again: the field that says which they are. Empty where none do.
  std::string rehearsed_field = {};
  std::vector<OutputField> outputs;
  std::shared_ptr<StepCounters> fetch_counters = std::make_shared<StepCounters>();
  /// The last step: rows written into the batch. Deferred work (decode, resize, …) is done, and counted, there.
  std::shared_ptr<StepCounters> write_counters = std::make_shared<StepCounters>();
  /// Told what happens when, while there is one.
  std::shared_ptr<TraceSwitch> trace = std::make_shared<TraceSwitch>();
  /// Of rows in `stages` and in writing; which step had what part of it: StepCounters::looked_at.
  std::shared_ptr<RowCounters> row_counters = std::make_shared<RowCounters>();

  /// Bytes of one batch of `rows` rows in its fixed-shape fields.
  uint64_t batch_bytes(int64_t rows) const {
    uint64_t bytes = 0;
    for (const OutputField& output : outputs) bytes += output.row_bytes.value_or(0) * static_cast<uint64_t>(rows);
    return bytes;
  }
  /// Where the data set is stored; null where nothing is fetched.
  Store* store() const {
    if (chunks) return chunks->source->chunks() > 0 ? chunks->source->chunk_fetch(0).store : nullptr;
    return fetches && selection->size() > 0 ? samples().fetch(selection->id_at(0)).store : nullptr;
  }
  bool has_foreign() const {
    for (const Stage& stage : stages) {
      if (std::holds_alternative<ForeignStage>(stage)) return true;
    }
    return false;
  }
  /// A data set of the user's own: its function makes the samples.
  bool starts_with_user_code() const {
    const auto* first = stages.empty() ? nullptr : std::get_if<ForeignStage>(&stages.front());
    return first != nullptr && first->step == 0;
  }
  /// Nothing but copying: rows of all fields are gathered by the source.
  bool gathers_only() const {
    if (chunks) return false;
    for (const OutputField& output : outputs) {
      if (!output.gathered) return false;
    }
    return !fetches && !outputs.empty();
  }
};

}  // namespace forebay
