#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/work_memory.h"
#include "pipeline/batch_job.h"
#include "pipeline/block_columns.h"
#include "pipeline/chunk_plan.h"
#include "pipeline/segment_ends.h"

// Batches whose rows are blocks of packed sequences. Each row of the job is a part of a sequence.

namespace forebay {

// Returns the row's part of a sequence. If the length of the sequence differs from its packed
// length, the row is recorded in `mismatch_` and the result is empty.
RowBytes BatchJob::part_of_sequence(size_t output, int64_t row, RowBytes sequence, size_t item) {
  const PackedPiece& piece = step_.pieces[static_cast<size_t>(row)];
  const int64_t length = branch_of(row).packing->given_length(piece.sequence);
  if (sequence.size() != item * static_cast<size_t>(length)) {
    // If several sequences have changed, any of them will do for the message.
    mismatch_ = row * static_cast<int64_t>(outputs_.size()) + static_cast<int64_t>(output);
    return {};
  }
  // The appended element is not there. A part that is nothing else has the one before it.
  const int64_t from = std::min(piece.from, length - 1), count = std::min(piece.count, length - from);
  return sequence.subspan(static_cast<size_t>(from) * item, static_cast<size_t>(count) * item);
}

void BatchJob::cut_to_part(size_t output, int64_t row, Value& sequence) {
  if (sequence.kind != FieldKind::kTensor || sequence.tensor.shape.rank() != 1)
    return;  // reported when the batch is planned
  const Buffer& whole = sequence.tensor.buffer;
  const RowBytes piece = part_of_sequence(output, row, {whole.data(), sequence.nbytes()}, dtype_size(sequence.dtype()));
  if (piece.size() == sequence.nbytes()) return;
  Tensor part;  // has its own memory, since a long sequence is in many batches at once
  part.dtype = sequence.dtype();
  part.shape = Shape{static_cast<int64_t>(piece.size() / dtype_size(part.dtype))};
  part.buffer = Buffer::allocate(piece.size());
  if (!piece.empty()) std::memcpy(part.buffer.data(), piece.data(), piece.size());
  sequence = Value::of(std::move(part));
}

Status BatchJob::locate(Status status, int64_t row) const {
  const int64_t id = rows_[static_cast<size_t>(row)].id;
  return std::move(status).with_sample(id).with_key(name_of(row));
}

// Collects the bytes of all rows of a packed field. Skipped rows are empty.
Result<BatchJob::Sequences> BatchJob::collect_sequences(size_t output) const {
  const Field& field = outputs_[output].field;
  if (!values_.references(output).empty()) return Sequences{field.dtype, values_.references(output)};
  std::optional<DType> type;
  std::vector<RowBytes> rows;
  for (size_t row = 0; row < rows_.size(); ++row) {
    rows.emplace_back();
    if (rows_[row].skipped) continue;
    const Value& value = values_.values(output)[row];
    const bool numbers = value.kind == FieldKind::kTensor && value.tensor.shape.rank() == 1;
    if (!numbers || value.dtype() != type.value_or(value.dtype())) {
      const std::string what =
          numbers ? fmt::format("{} here and {} in others", dtype_name(value.dtype()), dtype_name(*type))
                  : std::string("no row of numbers");
      return locate(
          invalid_argument(fmt::format("the field '{}' is {}; .pack() puts rows of numbers of one type side by side",
                                       field.name, what)),
          static_cast<int64_t>(row));
    }
    type = value.dtype();
    rows.back() = {value.tensor.buffer.data(), value.nbytes()};
  }
  return Sequences{type.value_or(field.kind == FieldKind::kTensor ? field.dtype : DType::kInt32), std::move(rows)};
}

// The destinations of the rows.
std::vector<BlockRow> BatchJob::block_rows() const {
  std::vector<BlockRow> rows = rows_in_blocks(step_, plan_.first().packing->sequences.block_length);
  for (size_t row = 0; row < rows.size(); ++row) {
    const PackingStep& packing = *branch_of(static_cast<int64_t>(row)).packing;
    const PackedPiece& piece = step_.pieces[row];
    rows[row].appended = packing.appends && piece.from + piece.count > packing.given_length(piece.sequence);
  }
  return rows;
}

Status BatchJob::plan_blocks(BatchAssembly& assembly) const {
  const PackingStep& packing = *plan_.first().packing;
  if (const int64_t at = mismatch_; at >= 0) {
    const auto outputs = static_cast<int64_t>(outputs_.size());
    return locate(
        invalid_argument(fmt::format(
            "the field '{}' is not as long as when the lengths were taken; what stands before .pack() has to give "
            "the same for a sample every time",
            outputs_[static_cast<size_t>(at % outputs)].field.name)),
        at / outputs);
  }
  std::vector<Sequences> sequences;
  for (size_t output = 0; output < outputs_.size(); ++output) {
    FOREBAY_ASSIGN(sequences.emplace_back(), collect_sequences(output));
  }
  const auto places = std::make_shared<const std::vector<BlockRow>>(block_rows());
  const auto shared = std::make_shared<const std::vector<Sequences>>(std::move(sequences));
  for (const BlockField& field : packing.fields) {
    const Sequences& of = (*shared)[field.output];
    const std::string& from = outputs_[field.output].field.name;
    if (const auto problem = number_problem(field, from, of.type); problem && field.value == BlockValue::kElements)
      return invalid_argument(fmt::format("{}; {}", problem->message, problem->remedy));
    BatchAssembly::FieldJob job;
    job.name = field.name;
    job.layout.dtype = field.value == BlockValue::kElements ? of.type : DType::kInt32;
    job.layout.row_shape = Shape{packing.sequences.block_length};
    job.layout.row_bytes = static_cast<size_t>(packing.sequences.block_length) * dtype_size(job.layout.dtype);
    job.layout.value_bytes = job.layout.row_bytes * step_.blocks.size();
    job.blocks = {field, of.type, step_.blocks.size(), places};
    job.rows = of.rows;
    job.memory = shared;
    assembly.add(std::move(job));
  }
  if (packing.segment_ends) plan_segment_ends(*packing.segment_ends, packing.sequences.block_length, assembly);
  assembly.add_bytes(packing.op_bytes(std::ssize(step_.blocks), std::ssize(rows_)).value());
  return {};
}

void BatchJob::plan_segment_ends(const SegmentEnds& fields, int64_t length, BatchAssembly& assembly) const {
  const auto segments = std::make_shared<const EndsOfSegments>(ends_of_segments(step_, length, fields.entries));
  BatchAssembly::FieldJob ends, longest;
  for (size_t block = 0; block < step_.blocks.size(); ++block) {
    const auto bytes_of = [](std::span<const int32_t> numbers) {
      return RowBytes(reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes());
    };
    ends.own_rows.push_back(bytes_of(segments->of_block(block)));
    longest.own_rows.push_back(bytes_of(std::span(segments->longest).subspan(block, 1)));
  }
  ends.name = fields.ends;
  ends.layout.kind = fields.entries > 0 ? BatchField::Kind::kDense : BatchField::Kind::kRagged;
  if (fields.entries > 0) ends.layout.row_shape = Shape{fields.entries};
  ends.layout.row_bytes = static_cast<size_t>(fields.entries) * sizeof(int32_t);
  ends.layout.value_bytes = segments->ends.size() * sizeof(int32_t);
  longest.name = fields.longest;
  longest.layout.row_bytes = sizeof(int32_t);
  longest.layout.value_bytes = segments->longest.size() * sizeof(int32_t);
  for (BatchAssembly::FieldJob* job : {&ends, &longest}) {
    job->layout.dtype = DType::kInt32;
    job->rows = job->own_rows;
    job->memory = segments;
    assembly.add(std::move(*job));
  }
}

void BatchJob::count_samples(const Batch& made, std::span<int64_t> by_branch) const {
  const int64_t delivered = std::ssize(made.ids) - made.padding;
  if (step_.blocks.empty() || !plan_.first().packing->sequences.shared) {
    for (int64_t row = 0; row < delivered; ++row) ++by_branch[made.parts[static_cast<size_t>(row)]];
    return;
  }
  for (size_t row = 0; row < rows_.size(); ++row) {
    // A sample counts where its first piece is.
    const auto& piece = step_.pieces[row];
    const PackedSequences& sequences = branch_of(static_cast<int64_t>(row)).packing->sequences;
    if (piece.from == sequences.first_of(piece.sequence) && !rows_[row].skipped && !step_.rows[row].padding)
      ++by_branch[step_.rows[row].branch];
  }
}

SampleKey BatchJob::key_of_block(size_t block) const {
  const PlannedBlock& of = step_.blocks[block];
  return {plan_.branch(of.row.branch).seed, of.row.pass, of.number, of.row.occurrence};
}

std::string BatchJob::name_of_block(size_t block) const {
  const PlannedBlock& of = step_.blocks[block];
  const bool shared = plan_.first().packing->sequences.shared;
  const std::string part = shared ? std::string() : plan_.branch(of.row.branch).name;
  return fmt::format("{}{}block {}", part, part.empty() ? "" : ": ", of.number);
}

// Runs the steps on finished blocks. plan_blocks() has counted the memory that they take.
Status BatchJob::change_blocks(Batch& batch) const {
  const PackingStep& packing = *plan_.first().packing;
  if (packing.ops.empty()) return {};
  WorkMemory memory;
  Columns columns = columns_of(std::move(batch.fields), std::ssize(step_.blocks));
  for (const auto& op : packing.ops) {
    FOREBAY_RETURN_IF_ERROR(op->run(columns, memory));
    if (!columns.bad_rows) continue;
    const auto& [block, status] = *columns.bad_rows->begin();
    return Status(status)
        .with_sample(step_.blocks[static_cast<size_t>(block)].number)
        .with_key(name_of_block(static_cast<size_t>(block)));
  }
  batch.fields = fields_of(std::move(columns));
  return {};
}

Result<Batch> BatchJob::finish_blocks() {
  Batch batch;
  batch.epoch = step_.at.epoch;
  batch.step = step_.at.step;
  const bool of_one_part = !plan_.first().packing->sequences.shared;
  if (of_one_part) batch.part_names = plan_.part_names();
  for (const PlannedBlock& block : step_.blocks) {
    batch.ids.push_back(block.number);
    batch.positions.push_back(block.row.position);
    batch.padding += block.row.padding ? 1 : 0;
    if (of_one_part && plan_.size() > 1) batch.parts.push_back(block.row.branch);
  }
  for (BatchAssembly::FieldJob& field : assembly_->fields()) batch.fields.push_back(std::move(field.result));
  assembly_.reset();
  values_.drop_all();
  FOREBAY_RETURN_IF_ERROR(change_blocks(batch));
  return batch;
}

}  // namespace forebay
