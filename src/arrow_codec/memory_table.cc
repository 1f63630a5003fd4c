#include "arrow_codec/memory_table.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>
#include <fmt/format.h>

#include "arrow_codec/arrow_status.h"
#include "arrow_codec/batch_columns.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

// A group is decoded as a whole, so it is small enough that several fit into the memory of a loader
// at once, and large enough that the work per group does not matter.
constexpr int64_t kGroupRows = int64_t{1} << 16;
constexpr int64_t kGroupBytes = int64_t{16} << 20;
constexpr std::string_view kTableInMemory = "the table in memory";

/// Bytes of the buffers that the array refers to; 0 if Arrow cannot tell.
uint64_t column_bytes(const arrow::Array& array) {
  const auto bytes = arrow::util::ReferencedBufferSize(array);
  return bytes.ok() ? static_cast<uint64_t>(std::max<int64_t>(0, *bytes)) : 0;
}

int64_t rows_a_group(const arrow::RecordBatch& batch) {
  int64_t bytes = 0;
  for (const auto& column : batch.columns()) bytes += static_cast<int64_t>(column_bytes(*column));
  // Uses the mean bytes per row, because the string bytes of a slice are not known before it is
  // made.
  const int64_t groups = std::max<int64_t>(1, bytes / kGroupBytes);
  return std::clamp<int64_t>(batch.num_rows() / groups, 1, kGroupRows);
}

}  // namespace

Result<std::shared_ptr<const TableFile>> MemoryTable::of_stream(void* stream, const TableReading& reading) {
  if (stream == nullptr) return invalid_argument("no table was given: the stream is null");
  std::shared_ptr<MemoryTable> table(new MemoryTable);
  try {
    FOREBAY_ASSIGN_ARROW(const auto reader, arrow::ImportRecordBatchReader(static_cast<ArrowArrayStream*>(stream)),
                         kTableInMemory);
    table->arrow_schema_ = reader->schema();
    FOREBAY_ASSIGN(table->plan_, plan_table(*reader->schema(), reading));
    // The stream is read to its end at once, because it can be read only once and rows are needed
    // in any order.
    while (true) {
      FOREBAY_ASSIGN_ARROW(const auto batch, reader->Next(), kTableInMemory);
      if (batch == nullptr) break;
      FOREBAY_RETURN_IF_ERROR(table->add(batch));
    }
  } catch (const std::exception& error) {
    return from_exception(error, kTableInMemory);
  }
  return std::shared_ptr<const TableFile>(std::move(table));
}

Result<std::shared_ptr<const TableFile>> MemoryTable::with_reading(const TableReading& reading) const {
  std::shared_ptr<MemoryTable> table(new MemoryTable);
  table->arrow_schema_ = arrow_schema_;
  table->groups_ = groups_;
  FOREBAY_ASSIGN(table->plan_, plan_table(*arrow_schema_, reading));
  return std::shared_ptr<const TableFile>(std::move(table));
}

Status MemoryTable::add(const std::shared_ptr<arrow::RecordBatch>& batch) {
  if (const auto status = batch->Validate(); !status.ok()) return from_arrow(status, kTableInMemory);
  const int64_t most = rows_a_group(*batch);
  for (int64_t row = 0; row < batch->num_rows(); row += most)
    groups_.push_back(batch->Slice(row, std::min(most, batch->num_rows() - row)));
  return {};
}

int64_t MemoryTable::rows(int64_t group) const { return groups_[static_cast<size_t>(group)]->num_rows(); }

ChunkCost MemoryTable::cost(int64_t group, std::span<const size_t> fields) const {
  const arrow::RecordBatch& batch = *groups_[static_cast<size_t>(group)];
  ChunkCost cost;
  for (const size_t field : fields) {
    const Leaf& leaf = plan_.leaves[plan_.outputs[field].leaf];
    // Without lists, the size of a field follows from its shape and the number of rows alone.
    const uint64_t bytes = leaf.lists == 0 ? 0 : column_bytes(*batch.column(static_cast<int>(leaf.column)));
    cost.decoded_bytes += field_bytes(plan_, field, batch.num_rows(), bytes);
  }
  return cost;
}

Result<Columns> MemoryTable::decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> /*pieces*/,
                                    WorkMemory& memory) const {
  const arrow::RecordBatch& batch = *groups_[static_cast<size_t>(group)];
  // Limits the memory that batch_columns() takes from the pool on this thread.
  Allowance allowance(cost(group, fields).decoded_bytes, memory);
  try {
    return batch_columns(plan_, fields, batch.num_rows(), batch.columns(), /*owned=*/false);
  } catch (const std::exception& error) {
    return from_exception(error, kTableInMemory);
  }
}

}  // namespace forebay
