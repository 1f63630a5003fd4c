#include "pipeline/batch_job.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "pipeline/collate.h"

namespace forebay {

namespace {

std::string described(const Value& value, const std::string& name) {
  Field field;
  field.name = name;
  field.kind = value.kind;
  if (value.kind == FieldKind::kTensor) {
    field.dtype = value.dtype();
    field.shape = value.shape();
  }
  return field.to_string();
}

}  // namespace

BatchJob::BatchJob(ExecutionPlan plan, StepPlan step)
    : plan_(std::move(plan)), outputs_(plan_.outputs()), step_(std::move(step)), rows_(step_.rows.size()),
      slots_(outputs_.size()), values_(plan_, step_.rows.size()) {
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i].id = step_.rows[i].id;
}

void BatchJob::store(size_t output, int64_t row, Value value) {
  if (plan_.first().packing) cut_to_part(output, row, value);
  values_.store(output, row, std::move(value));
}

void BatchJob::set_reference(size_t output, int64_t row, RowBytes bytes) {
  if (plan_.first().packing) bytes = part_of_sequence(output, row, bytes, dtype_size(outputs_[output].field.dtype));
  values_.set_reference(output, row, bytes);
}

bool BatchJob::acquire_slots(BufferPool& pool) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!outputs_[i].row_bytes || slots_[i].owner()) continue;
    std::optional<BufferPool::Acquired> memory = pool.acquire(*outputs_[i].row_bytes * rows_.size());
    if (!memory) return false;  // slots acquired so far stay; the next call continues from here
    claim_.merge(std::move(memory->claim));
    slots_[i] = std::move(memory->buffer);
  }
  has_slots_ = true;
  return true;
}

void BatchJob::reset_rows() {
  values_.drop_all();
  for (RowJob& row : rows_) row.skipped = false;
  errors.clear();
  fatal = Status();
  mismatch_ = -1;
  samples_.clear();
}

Status BatchJob::delivery_error() const {
  if (!fatal.ok()) return fatal;
  auto raised = std::find_if(errors.begin(), errors.end(), [](const RowError& error) { return error.raise; });
  return raised == errors.end() ? Status() : raised->status;
}

int64_t BatchJob::first_position() const {
  if (!step_.blocks.empty()) return step_.blocks.front().row.position;
  return rows_.empty() ? step_.at.position : step_.rows.front().position;
}

void BatchJob::replace_claim(Claim claim) {
  drop_slots();
  claim_ = std::move(claim);
}

void BatchJob::drop_slots() {
  claim_.give_back();  // first, so that the pool has free memory to keep the returned buffers
  for (Buffer& slot : slots_) slot = Buffer();
  assembly_.reset();
  has_slots_ = false;
}

uint64_t BatchJob::assembly_bytes() const {
  if (assembly_) return assembly_->nbytes();
  BatchAssembly assembly;
  plan_assembly(assembly);
  return assembly.nbytes();
}

std::span<const RowBytes> BatchJob::remaining_references(size_t output, std::vector<RowBytes>& remaining) const {
  if (std::none_of(rows_.begin(), rows_.end(), [](const RowJob& row) { return row.skipped; }))
    return values_.references(output);
  remaining.clear();
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row].skipped) remaining.push_back(values_.references(output)[row]);
  }
  return remaining;
}

bool BatchJob::reserve_assembly(BufferPool& pool, uint64_t bytes) {
  std::optional<Claim> claim = pool.reserve(bytes);
  if (claim) reserved_ = std::move(*claim);
  return claim.has_value();
}

Result<Buffer> BatchJob::acquire(BufferPool& pool, size_t bytes) {
  if (bytes > reserved_.bytes()) return internal_error("a batch takes more memory than its layout has");
  std::optional<BufferPool::Acquired> memory = pool.take_reserved(reserved_, bytes);
  if (!memory) return system_lacks_memory();
  claim_.merge(std::move(memory->claim));
  return std::move(memory->buffer);
}

Result<CollationMemory> BatchJob::acquire_collation(BufferPool& pool, const Collation& layout, size_t rows) {
  CollationMemory memory;
  FOREBAY_ASSIGN(memory.values, acquire(pool, layout.value_bytes));
  if (const size_t bytes = layout.offset_bytes(rows); bytes > 0) {
    FOREBAY_ASSIGN(memory.offsets, acquire(pool, bytes));
  }
  if (const size_t bytes = layout.string_offset_bytes(); bytes > 0) {
    FOREBAY_ASSIGN(memory.string_offsets, acquire(pool, bytes));
  }
  return memory;
}

void BatchJob::compact_slots() {
  int64_t remaining = 0;
  for (int64_t row = 0; row < static_cast<int64_t>(rows_.size()); ++row) {
    if (rows_[static_cast<size_t>(row)].skipped) continue;
    for (size_t i = 0; i < slots_.size() && remaining != row; ++i) {
      if (outputs_[i].row_bytes) std::memmove(slot(i, remaining), slot(i, row), *outputs_[i].row_bytes);
    }
    ++remaining;
  }
}

void BatchJob::compute_layout() {
  assembly_ = std::make_unique<BatchAssembly>();
  plan_assembly(*assembly_);
}

Status BatchJob::begin_assembly(BufferPool& pool) {
  const uint64_t before = claim_.bytes();
  Status status = assembly_->status();
  for (BatchAssembly::FieldJob& field : assembly_->fields()) {
    if (status.ok()) status = acquire_field(pool, field);
  }
  // Samples that stay apart, and what steps make of blocks, take memory that is not of the pool.
  if (status.ok() && assembly_->other_bytes() > 0) claim_.merge(std::exchange(reserved_, Claim()));
  reserved_.give_back();
  if (!status.ok()) {
    claim_.shrink_to(before);
    return status;
  }
  assembly_->make_pieces();
  return {};
}

Status BatchJob::acquire_field(BufferPool& pool, BatchAssembly::FieldJob& field) {
  FOREBAY_ASSIGN(const CollationMemory memory, acquire_collation(pool, field.layout, field.rows_of_field()));
  field.result = lay_out(field.layout, field.rows_of_field(), memory);
  field.result.name = field.name;
  return {};
}

Result<Batch> BatchJob::assemble(BufferPool& pool) {
  if (!assembly_) compute_layout();
  FOREBAY_RETURN_IF_ERROR(begin_assembly(pool));
  for (size_t piece = 0; piece < piece_count(); ++piece) copy_piece(piece);
  return finish_assembly();
}

Result<Batch> BatchJob::finish_assembly() {
  if (plan_.first().packing) return finish_blocks();
  Batch batch = begin_batch();
  if (plan_.first().stacks_rows) {
    add_fields(batch);
  } else {
    copy_samples();
  }
  assembly_.reset();
  values_.drop_all();  // the batch has copied them; they would take their bytes twice
  return batch;
}

Batch BatchJob::begin_batch() const {
  Batch batch;
  batch.epoch = step_.at.epoch;
  batch.step = step_.at.step;
  batch.part_names = plan_.part_names();
  batch.ids.reserve(rows_.size());
  batch.positions.reserve(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].skipped) continue;
    batch.ids.push_back(rows_[i].id);
    batch.positions.push_back(step_.rows[i].position);
    batch.padding += step_.rows[i].padding ? 1 : 0;
    if (plan_.size() > 1) batch.parts.push_back(step_.rows[i].branch);
  }
  return batch;
}

void BatchJob::add_fields(Batch& batch) {
  compact_slots();
  std::vector<BatchAssembly::FieldJob>& assembled = assembly_->fields();
  batch.fields.reserve(outputs_.size());
  size_t next = 0;  // assembled fields are in the order of the outputs; extra fields are last
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const OutputField& output = outputs_[i];
    if (next < assembled.size() && assembled[next].output == i) {
      batch.fields.push_back(std::move(assembled[next++].result));
      continue;
    }
    BatchField field;
    field.name = output.field.name;
    field.values.dtype = output.field.dtype;
    field.values.shape.push_back(batch.size());
    for (int64_t dim : output.field.shape) field.values.shape.push_back(dim);
    // The slot is cut to the remaining rows, which compact_slots() has moved to the front.
    field.values.buffer = slots_[i].slice(0, *output.row_bytes * batch.ids.size());
    batch.fields.push_back(std::move(field));
  }
  for (; next < assembled.size(); ++next) batch.fields.push_back(std::move(assembled[next].result));
  if (!plan_.first().rehearsed_field.empty()) batch.fields.push_back(make_replayed_field());
}

// The field is not charged to the budget, since it has one byte for each row.
BatchField BatchJob::make_replayed_field() const {
  BatchField field;
  field.name = plan_.first().rehearsed_field;
  std::vector<uint8_t> marks;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row].skipped) marks.push_back(step_.is_replayed(static_cast<int64_t>(row)) ? 1 : 0);
  }
  field.values = Tensor::allocate(DType::kBool, Shape{static_cast<int64_t>(marks.size())});
  std::copy(marks.begin(), marks.end(), field.values.buffer.data());
  return field;
}

Field BatchJob::planned_field(size_t output) const {
  Field field = outputs_[output].field;
  if (outputs_[output].may_differ) field.kind = FieldKind::kAny;
  return field;
}

Result<bool> BatchJob::all_differ(size_t output) const {
  const std::vector<Value>& values = values_.values(output);
  if (!outputs_[output].may_differ || values.empty()) return false;
  // Values of the planned type and shape were written into their slots, not into `values_`.
  const auto differs = [&](size_t row) { return values[row].kind != FieldKind::kAny; };
  std::optional<size_t> first;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].skipped) continue;
    if (!first) first = row;
    if (differs(row) == differs(*first)) continue;
    const size_t odd = differs(row) ? row : *first;
    return invalid_argument(fmt::format("the user's function gave {} for some samples of a batch, and the field is {}; "
                                        "give one type and shape for all",
                                        described(values[odd], outputs_[output].field.name),
                                        outputs_[output].field.to_string()))
        .with_sample(rows_[odd].id)
        .with_key(name_of(static_cast<int64_t>(odd)));
  }
  return first && differs(*first);
}

SampleName BatchJob::name_of_remaining(size_t index) const {
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!rows_[row].skipped && index-- == 0) return {rows_[row].id, name_of(static_cast<int64_t>(row))};
  }
  return {};
}

void BatchJob::plan_assembly(BatchAssembly& assembly) const {
  if (!plan_.first().stacks_rows) return plan_samples(assembly);
  if (plan_.first().packing) {
    if (Status status = plan_blocks(assembly); !status.ok()) assembly.fail(std::move(status));
    return;
  }
  for (const size_t output : values_.outputs()) {
    const Result<bool> differs = all_differ(output);
    if (!differs.ok()) {
      assembly.fail(differs.status());
      continue;
    }
    if (outputs_[output].row_bytes && !*differs) continue;
    Result<BatchAssembly::FieldJob> field = plan_output(output);
    if (field.ok()) field->output = output;
    assembly.add(std::move(field));
  }
  plan_extras(assembly);
}

Result<BatchAssembly::FieldJob> BatchJob::plan_output(size_t output) const {
  if (values_.references(output).empty()) {
    std::vector<const Value*> values;
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (!rows_[row].skipped) values.push_back(&values_.values(output)[row]);
    }
    return plan_values(planned_field(output), values);
  }
  const Field& field = outputs_[output].field;
  BatchAssembly::FieldJob job;
  job.name = field.name;
  job.rows = remaining_references(output, job.own_rows);
  FOREBAY_ASSIGN(job.layout, plan_collation(field, job.rows, [this](size_t i) { return name_of_remaining(i); }));
  return job;
}

Result<BatchAssembly::FieldJob> BatchJob::plan_values(const Field& field,
                                                      const std::vector<const Value*>& values) const {
  BatchAssembly::FieldJob job;
  job.name = field.name;
  FOREBAY_ASSIGN(job.layout,
                 plan_collation(field.name, field, values, [this](size_t i) { return name_of_remaining(i); }));
  job.own_rows = rows_of(values);
  job.rows = job.own_rows;
  return job;
}

}  // namespace forebay
