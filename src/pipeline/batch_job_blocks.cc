#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "pipeline/batch_job.h"

// Batches whose rows are blocks of packed sequences. Each row of the job is a part of a sequence.

namespace forebay {

// Returns the row's part of a sequence. If the length of the sequence differs from its packed
// length, the row is recorded in `mismatched_row_` and the result is empty.
RowBytes BatchJob::part_of_sequence(int64_t row, RowBytes sequence, size_t item) {
  const PackedPiece& piece = step_.pieces[static_cast<size_t>(row)];
  if (sequence.size() != item * plan_.first().packing->blocks->lengths()[static_cast<size_t>(piece.sequence)]) {
    // If several sequences have changed, any of them will do for the message.
    mismatched_row_ = row;
    return {};
  }
  return sequence.subspan(static_cast<size_t>(piece.from) * item, static_cast<size_t>(piece.count) * item);
}

void BatchJob::cut_to_part(int64_t row, Value& sequence) {
  if (sequence.kind != FieldKind::kTensor || sequence.tensor.shape.rank() != 1)
    return;  // reported when the batch is planned
  const Buffer& whole = sequence.tensor.buffer;
  const RowBytes piece = part_of_sequence(row, {whole.data(), sequence.nbytes()}, dtype_size(sequence.dtype()));
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

// Collects the bytes of all rows, and returns the type of their elements. Skipped rows are empty.
Result<DType> BatchJob::collect_sequences(std::vector<RowBytes>& rows) const {
  const Field& field = outputs_.front().field;
  if (!values_.references(0).empty()) {
    rows = values_.references(0);
    return field.dtype;
  }
  std::optional<DType> type;
  for (size_t row = 0; row < rows_.size(); ++row) {
    rows.emplace_back();
    if (rows_[row].skipped) continue;
    const Value& value = values_.values(0)[row];
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
  return type.value_or(field.kind == FieldKind::kTensor ? field.dtype : DType::kInt32);
}

Status BatchJob::plan_blocks(BatchAssembly& assembly) const {
  const PackingStep& packing = *plan_.first().packing;
  const std::string& name = outputs_.front().field.name;
  if (const int64_t row = mismatched_row_; row >= 0)
    return locate(
        invalid_argument(fmt::format(
            "the field '{}' is not as long as when the lengths were taken; what stands before .pack() has to give "
            "the same for a sample every time",
            name)),
        row);
  std::vector<RowBytes> rows;
  FOREBAY_ASSIGN(const DType type, collect_sequences(rows));
  const int64_t length = packing.blocks->length();
  const auto places = std::make_shared<const std::vector<BlockRow>>(rows_in_blocks(step_, length));
  std::span<const RowBytes> shared = rows;
  const auto add = [&](const std::string& field, BlockValue value) {
    BatchAssembly::FieldJob job;
    job.name = field;
    job.layout.dtype = value == BlockValue::kElements ? type : DType::kInt32;
    job.layout.row_shape = Shape{length};
    job.layout.row_bytes = static_cast<size_t>(length) * dtype_size(job.layout.dtype);
    job.layout.value_bytes = job.layout.row_bytes * step_.blocks.size();
    job.blocks = {value, type, packing.pad, step_.blocks.size(), places};
    // `shared` still refers to the moved elements.
    if (value == BlockValue::kElements) job.own_rows = std::move(rows);
    job.rows = shared;
    assembly.add(std::move(job));
  };
  add(name, BlockValue::kElements);
  add(packing.segments, BlockValue::kSegments);
  add(packing.positions, BlockValue::kPositions);
  return {};
}

Batch BatchJob::finish_blocks() {
  Batch batch;
  batch.epoch = step_.at.epoch;
  batch.step = step_.at.step;
  for (const PlannedBlock& block : step_.blocks) {
    batch.ids.push_back(block.number);
    batch.positions.push_back(block.row.position);
    batch.padding += block.row.padding ? 1 : 0;
  }
  for (BatchAssembly::FieldJob& field : assembly_->fields()) batch.fields.push_back(std::move(field.result));
  assembly_.reset();
  values_.drop_all();
  return batch;
}

}  // namespace forebay
