#include "pipeline/row_work.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "pipeline/block_rows.h"
#include "pipeline/operator_trace.h"
#include "pipeline/row_gather.h"
#include "store/store.h"

namespace forebay {

namespace {

// So many bad replacements in a row indicate that the whole data set is broken.
constexpr int64_t kMaxReplacements = 100;

// Whether the row failed because it needs more working memory than the thread was granted.
bool lacks_grant(const Status& status, const WorkMemory& memory) {
  return status.code() == Code::kOutOfBudget && status.bytes_needed() > memory.grant();
}

// Copies a value out of a chunk's memory, which would otherwise stay alive as a whole.
void own_memory(Value& value) {
  Buffer& shared = value.kind == FieldKind::kTensor ? value.tensor.buffer : value.bytes;
  Buffer own = Buffer::allocate(shared.size());
  if (!shared.empty()) std::memcpy(own.data(), shared.data(), shared.size());
  shared = std::move(own);
}

uint64_t bytes_of(const Record& record) {
  uint64_t bytes = 0;
  for (const Value& value : record) bytes += value.nbytes();
  return bytes;
}

// `step`: the number of the first operator.
Status run_ops(const NativeStage& stage, int step, Record& record, const SampleContext& context) {
  uint64_t bytes = bytes_of(record);
  for (const NativeOp& op : stage.ops) {
    const StepSpan span(context.memory->meter(), step++);
    Status status = op.op->apply(record, context);
    if (!status.ok()) return std::move(status).with_operator(op.name);
    const uint64_t made = bytes_of(record);
    op.counters->add(1, bytes, made, 0);
    bytes = made;
  }
  return {};
}

// The value of the field that marks replayed samples.
Value replayed_mark(const BatchJob& batch, int64_t row) {
  Tensor mark = Tensor::allocate(DType::kBool, Shape{});
  mark.buffer.data()[0] = batch.step().is_replayed(row) ? 1 : 0;
  return Value::of(std::move(mark));
}

// Measures the CPU time of a row, whatever its outcome.
class RowTime {
 public:
  RowTime(StepMeter& meter, const std::vector<StepCounters*>& counters, RowCounters& all, OperatorTrace trace)
      : meter_(meter), counters_(counters), all_(all), trace_(std::move(trace)) {
    meter_.begin();
  }
  ~RowTime() {
    std::array<std::pair<size_t, int64_t>, StepMeter::kSteps> parts;
    size_t count = 0;
    const int64_t cpu_ns = meter_.end([&](int step, int64_t ns) {
      parts[count++] = {std::min(static_cast<size_t>(step), counters_.size() - 1), ns};
    });
    for (size_t i = 0; i < count; ++i) {
      counters_[parts[i].first]->add_measured(parts[i].second, cpu_ns);
      trace_.add(parts[i].first, parts[i].second);
    }
    all_.add(cpu_ns, count > 0);
  }
  RowTime(const RowTime&) = delete;
  RowTime& operator=(const RowTime&) = delete;

 private:
  StepMeter& meter_;
  const std::vector<StepCounters*>& counters_;
  RowCounters& all_;
  OperatorTrace trace_;
};

}  // namespace

RowWork::RowWork(std::shared_ptr<const BranchPlan> plan, std::shared_ptr<const Itinerary> itinerary, BadSample policy)
    : plan_(std::move(plan)), itinerary_(std::move(itinerary)), policy_(policy), counters_{plan_->write_counters.get()},
      names_{"batch"} {
  for (const Stage& stage : plan_->stages) {
    first_step_.push_back(static_cast<int>(counters_.size()));
    const auto* native = std::get_if<NativeStage>(&stage);
    for (size_t i = 0; native != nullptr && i < native->ops.size(); ++i) {
      counters_.push_back(native->ops[i].counters.get());
      names_.push_back(native->ops[i].name);
    }
  }
}

RowResult RowWork::run(RowInput& input, BatchJob& batch, const RowPlacement& placement, WorkMemory& memory) const {
  RowResult failed;
  try {
    if (plan_->chunks && plan_->chunks->gathers_rows)
      return RowGather(*this, *plan_, batch, input, placement).run(memory);
    RowResult result = plan_->gathers_only() ? run_gathered(input, batch, placement, memory)
                                             : run_stages(input, batch, placement, memory);
    // Checked after the values were used: a mapped file that has shrunk meanwhile has given zeros.
    if (Status status = plan_->source->check_intact(); !status.ok() && result.verdict != Verdict::kFatal) {
      result.fatal = std::move(status);
      result.verdict = Verdict::kFatal;
    }
    report_computed(input, batch, result);
    return result;
  } catch (const std::bad_alloc&) {
    failed.fatal = system_lacks_memory();
  } catch (const std::exception& error) {
    failed.fatal = locate(internal_error(error.what()), batch.rows()[static_cast<size_t>(input.first_row)].id);
  }
  failed.verdict = Verdict::kFatal;
  return failed;
}

namespace {

// Copies one field of many samples from the source into their rows.
Status gather_field(const SampleSource& source, const OutputField& output, size_t index, int64_t begin,
                    const RowPlacement& placement, GatherBuffers& buffers, BatchJob& batch) {
  // The source copies to consecutive rows. Smaller rows than this are copied twice, which is faster
  // than a call for each.
  constexpr size_t kSmallRow = 2048;
  const size_t bytes = *output.row_bytes;
  const std::span<const int64_t> ids = buffers.ids;
  if (placement.sorted_rows.empty()) return source.gather(output.source_field, ids, batch.slot(index, begin));
  const auto slot_of = [&](size_t i) { return batch.slot(index, placement.row(begin + static_cast<int64_t>(i))); };
  if (bytes > kSmallRow) {
    for (size_t i = 0; i < ids.size(); ++i)
      FOREBAY_RETURN_IF_ERROR(source.gather(output.source_field, ids.subspan(i, 1), slot_of(i)));
    return {};
  }
  uint8_t* const rows = buffers.rows(bytes * ids.size());
  FOREBAY_RETURN_IF_ERROR(source.gather(output.source_field, ids, rows));
  for (size_t i = 0; i < ids.size(); ++i) std::memcpy(slot_of(i), rows + i * bytes, bytes);
  return {};
}

}  // namespace

Status RowWork::gather_fields(BatchJob& batch, int64_t begin, const RowPlacement& placement,
                              GatherBuffers& buffers) const {
  for (size_t i = 0; i < plan_->outputs.size(); ++i)
    FOREBAY_RETURN_IF_ERROR(
        gather_field(plan_->samples(), plan_->outputs[i], plan_->batch_output(i), begin, placement, buffers, batch));
  // Checked after the values were used: a mapped file that has shrunk meanwhile has given zeros.
  return plan_->source->check_intact();
}

Status RowWork::gather(BatchJob& batch, int64_t begin, int64_t end, const RowPlacement& placement,
                       GatherBuffers& buffers) const {
  try {
    buffers.ids.clear();
    for (int64_t i = begin; i < end; ++i) buffers.ids.push_back(batch.rows()[static_cast<size_t>(placement.row(i))].id);
    return gather_fields(batch, begin, placement, buffers);
  } catch (const std::bad_alloc&) {
    return system_lacks_memory();
  } catch (const std::exception& error) {
    return internal_error(error.what());
  }
}

RowResult RowWork::run_gathered(RowInput& input, BatchJob& batch, const RowPlacement& placement,
                                WorkMemory& memory) const {
  GatherBuffers buffers;
  Status status = gather(batch, input.begin, input.end, placement, buffers);
  // A second pass row by row finds the bad row and applies the policy to it.
  if (is_data_error(status.code())) return run_stages(input, batch, placement, memory);
  RowResult result;
  if (status.ok()) {
    plan_->count_gathered(input.end - input.begin, 0);  // the caller adds the time
    return result;
  }
  result.fatal = locate(std::move(status), buffers.ids.empty() ? 0 : buffers.ids.front());
  result.verdict = Verdict::kFatal;
  return result;
}

RowResult RowWork::run_stages(RowInput& input, BatchJob& batch, const RowPlacement& placement,
                              WorkMemory& memory) const {
  RowResult result;
  for (int64_t i = input.begin; i < input.end; ++i) {
    const int64_t row = placement.row(i);
    // A row may have been found bad before a later row asked for more memory.
    if (batch.rows()[static_cast<size_t>(row)].skipped) continue;
    if (!run_sample(input, batch, placement, row, memory, result)) break;
  }
  return result;
}

// Brings the row's stored bytes into memory, if that needs no waiting. Returns false, and sets the
// verdict, if the task cannot continue now: the chunk of its sample is not in the block, its object
// has to be read asynchronously or cannot be read, or its cache entry is damaged.
bool RowWork::prepare_bytes(RowInput& input, BatchJob& batch, const RowPlacement& placement, int64_t row,
                            RowResult& result) const {
  const RowJob& sample = batch.rows()[static_cast<size_t>(row)];
  if (placement.block != nullptr && sample.attempt > 0 && !input.bytes.has_entry() &&
      !placement.block->has_row(sample.id)) {
    result.missing_ids.push_back(sample.id);
    result.verdict = Verdict::kNeedsChunks;
    return false;
  }
  if (!read(input, batch, result)) return false;
  if (open_entries(input)) return true;
  result.verdict = Verdict::kEntryDamaged;
  return false;
}

// Runs a row, and then the replacements of its sample as long as these need no read. Returns false
// if the task cannot continue now; the verdict says why.
bool RowWork::run_sample(RowInput& input, BatchJob& batch, const RowPlacement& placement, int64_t row,
                         WorkMemory& memory, RowResult& result) const {
  while (prepare_bytes(input, batch, placement, row, result)) {
    const uint64_t before = memory.reserved();
    Status status = run_row(input, batch, placement, row, memory, result);
    if (lacks_grant(status, memory)) {
      result.needs_bytes = status.bytes_needed();
      result.verdict = Verdict::kNeedsBytes;
      return false;
    }
    const uint64_t made = memory.reserved() - before;
    const bool replacement_needs_no_read =
        !plan_->fetches && !input.bytes.has_any_entry() && !plan_->starts_with_user_code() && input.stage == 0;
    if (!status.ok()) fail(batch, row, std::move(status), result);
    if (result.verdict == Verdict::kFatal) return false;
    if (result.verdict != Verdict::kReplaced || !replacement_needs_no_read) {
      // Memory of intermediate values is free again. Only values that wait for the batch still
      // count.
      if (result.verdict != Verdict::kForeign) memory.release(made - std::min(made, batch.value_bytes(row)));
      return true;
    }
    result.verdict = Verdict::kDone;
    memory.release(made);
  }
  return false;
}

// Reads the bytes of the object or cache entry unless they are in memory, if that needs no waiting.
// Returns false, and sets the verdict, if the row cannot continue now.
bool RowWork::read(RowInput& input, BatchJob& batch, RowResult& result) const {
  StoredBytes& bytes = input.bytes;
  if (const auto& on_version_read = input.entry.on_version_read; on_version_read && bytes.pieces_read) {
    on_version_read(input.entry.version_read().value_or(0), bytes.pieces.front().bytes);
    result.verdict = Verdict::kVersionLearned;
    return false;
  }
  if (bytes.entry_in_memory() || !bytes.needs_read() || input.stage > 0) return true;
  const std::optional<Status> read = bytes.read_now(*plan_->fetch_counters, 1);
  if (!read) {
    result.verdict = Verdict::kPageCacheMiss;
    return false;
  }
  if (!read->ok()) {
    result.storage_unavailable = read->code() == Code::kUnavailable;
    fail(batch, input.first_row, *read, result);
    return false;
  }
  result.read_from = bytes.store;
  return true;
}

// Runs a row from the source, or from where user code left off, into the batch or up to the next
// user code.
Status RowWork::run_row(RowInput& input, BatchJob& batch, const RowPlacement& placement, int64_t row,
                        WorkMemory& memory, RowResult& result) const {
  const int64_t id = batch.rows()[static_cast<size_t>(row)].id;
  const RowTime time(memory.meter(), counters_, *plan_->row_counters, OperatorTrace(plan_->trace->get(), names_, id));
  // Steps are prepared one after another, so an entry may have arrived since the look-up.
  if (input.stage == 0 && !input.bytes.entry_in_memory()) retry_lookup(input, batch);
  Result<Record> begun = begin_row(input, batch, placement, row);
  // The error of a chunk may have been found before the batch was due.
  result.storage_unavailable = plan_->chunks && begun.status().code() == Code::kUnavailable;
  FOREBAY_ASSIGN(Record record, std::move(begun));
  const bool starts_from_entry = input.stage == 0 && input.bytes.entry_in_memory();
  size_t stage = starts_from_entry ? input.bytes.entry->stage + 1 : input.stage;
  result.first_stage = result.end_stage = stage;
  for (; stage < plan_->stages.size(); ++stage) {
    if (const StoredBytes::Entry* const entry = find_part_entry(input.bytes, stage)) {
      stage = entry->stage;
      FOREBAY_RETURN_IF_ERROR(plan_->keyed_stage(stage).restore(*entry->columns, record, input.extras));
      continue;
    }
    if (const auto* user_code = std::get_if<ForeignStage>(&plan_->stages[stage])) {
      for (size_t field : user_code->inputs) FOREBAY_RETURN_IF_ERROR(record[field].materialize(memory));
      input.record = std::move(record);
      input.stage = result.end_stage = stage;
      result.verdict = Verdict::kForeign;
      return {};
    }
    FOREBAY_RETURN_IF_ERROR(run_stage(stage, input, batch, row, record, memory));
  }
  result.end_stage = stage;
  FOREBAY_RETURN_IF_ERROR(check_packed_alone(input.extras));
  FOREBAY_RETURN_IF_ERROR(write_row(batch, placement, row, record, memory));
  if (plan_->output_schema.open_ended) batch.store_extras(row, std::move(input.extras));
  return {};
}

// Runs a stage that is not user code.
Status RowWork::run_stage(size_t index, RowInput& input, const BatchJob& batch, int64_t row, Record& record,
                          WorkMemory& memory) const {
  if (const auto* native = std::get_if<NativeStage>(&plan_->stages[index]))
    return run_ops(*native, first_step_[index], record, {batch.key(row, index), &memory});
  const auto& keyed = std::get<KeyedStage>(plan_->stages[index]);
  if (keyed.drops_extras) input.extras.clear();
  FOREBAY_RETURN_IF_ERROR(store_row(index, input, batch, row, record, memory));
  if (keyed.marks_replayed) record.push_back(replayed_mark(batch, row));
  return {};
}

// Checked here, since it is known only now which extra fields the function returns.
Status RowWork::check_packed_alone(const Extras& extras) const {
  if (plan_->packed_fields.empty()) return {};
  std::vector<std::string> lost;
  for (const auto& [name, value] : extras) {
    const bool limited = std::ranges::find(plan_->limited_fields, name) != plan_->limited_fields.end();
    if (!limited && !is_droppable(name, value.kind)) lost.push_back(name);
  }
  if (lost.empty()) return {};
  const Problem problem = dropped_fields_problem(plan_->packed_fields, plan_->limited_fields, lost);
  return invalid_argument(fmt::format("{}; {}", problem.message, problem.remedy));
}

// Returns the record before the first stage that the row has to run.
Result<Record> RowWork::begin_row(RowInput& input, const BatchJob& batch, const RowPlacement& placement,
                                  int64_t row) const {
  const int64_t id = batch.rows()[static_cast<size_t>(row)].id;
  Record record;
  if (input.stage > 0) {
    // Operators change the record, and a row that needs more memory runs again from here, so the
    // values of user code are copied.
    for (const Value& value : input.record) record.push_back(value.copy());
    return record;
  }
  if (input.bytes.entry_in_memory()) {
    const StoredBytes::Entry& entry = *input.bytes.entry;
    const KeyedStage& stage = plan_->keyed_stage(entry.stage);
    // One call loads all fields that need no stored bytes.
    if (stage.needs_before()) FOREBAY_RETURN_IF_ERROR(plan_->samples().load(id, Buffer(), record));
    FOREBAY_RETURN_IF_ERROR(stage.restore(*entry.columns, record, input.extras));
    if (stage.marks_replayed) record.push_back(replayed_mark(batch, row));
  } else if (plan_->chunks) {
    const RowInBlock place = placement.block->locate(id);
    const Chunk& chunk = *placement.block->chunks[place.chunk];
    FOREBAY_RETURN_IF_ERROR(chunk_row_status(chunk, place.row));
    return plan_->chunks->packed.row(*chunk.rows(), place.row);
  } else {
    const bool one_object = input.bytes.part_entries.empty() && input.bytes.pieces.size() <= 1;
    FOREBAY_RETURN_IF_ERROR(one_object ? plan_->samples().load(id, input.bytes.only(), record)
                                       : plan_->samples().load_all(id, objects_of(input.bytes), record));
  }
  return record;
}

Status RowWork::write_row(BatchJob& batch, const RowPlacement& placement, int64_t row, Record& record,
                          WorkMemory& memory) const {
  const uint64_t read = bytes_of(record);
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const OutputField& output = plan_->outputs[i];
    Value& value = record[i];
    if (!output.row_bytes) {
      FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
      bytes += value.nbytes();
      if (placement.outlasts_chunks) own_memory(value);
      batch.store(plan_->batch_output(i), row, std::move(value));
      continue;
    }
    if (value.kind != FieldKind::kTensor || value.dtype() != output.field.dtype ||
        !(value.shape() == output.field.shape)) {
      if (output.may_differ && value.kind != FieldKind::kAny) {
        FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
        bytes += value.nbytes();
        batch.store(plan_->batch_output(i), row, std::move(value));
        continue;
      }
      return Status(Code::kUnsupported, fmt::format("the field {} came out as {} {}", output.field.to_string(),
                                                    dtype_name(value.dtype()), value.shape().to_string()));
    }
    FOREBAY_RETURN_IF_ERROR(value.write({batch.slot(plan_->batch_output(i), row), *output.row_bytes}, memory));
    bytes += *output.row_bytes;
  }
  plan_->write_counters->add(1, read, bytes, 0);
  return {};
}

void RowWork::fail(BatchJob& batch, int64_t row, Status status, RowResult& result) const {
  RowJob& job = batch.rows()[static_cast<size_t>(row)];
  batch.drop_values(row);
  status = locate(std::move(status), job.id);
  if (!is_data_error(status.code())) {
    result.fatal = std::move(status);
    result.verdict = Verdict::kFatal;
    return;
  }
  RowError error{row, job.id, std::move(status), /*raise=*/false, batch.planned(row).branch};
  // A packed sequence cannot be replaced by one of another length, and for a replayed sample the
  // order has no replacement.
  const bool irreplaceable = plan_->packing || batch.step().is_replayed(row);
  switch (policy_ == BadSample::kReplace && irreplaceable ? BadSample::kSkip : policy_) {
    case BadSample::kRaise: error.raise = true; break;
    case BadSample::kSkip: job.skipped = true; break;
    case BadSample::kReplace:
      if (replace(batch, row)) {
        result.verdict = Verdict::kReplaced;
      } else {
        error.raise = true;  // the last error is reported for all attempts
      }
      break;
  }
  result.errors.push_back(std::move(error));
}

// Gives the row the next replacement of its sample. Returns false if there is none. A replacement
// follows from seed, pass, place and attempt alone, so it is the same in every run.
bool RowWork::replace(BatchJob& batch, int64_t row) const {
  RowJob& job = batch.rows()[static_cast<size_t>(row)];
  if (job.attempt >= std::min(kMaxReplacements, itinerary_->replacements(batch.planned(row).branch))) return false;
  ++job.attempt;
  job.id = itinerary_->replacement(batch.planned(row), job.attempt);
  return true;
}

Status RowWork::locate(Status status, int64_t id) const {
  return std::move(status).with_key(plan_->name_of(id)).with_sample(id);
}

}  // namespace forebay
