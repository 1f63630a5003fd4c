#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "arrow_codec/table_plan.h"
#include "base/table_codec.h"

namespace forebay {

/// Record batches in memory, divided into groups of a size suitable for loaders. Columns are views
/// of the batches if possible, and then keep their arrays alive. It has no statistics, and nothing
/// is fetched. Immutable; any thread may decode.
class MemoryTable final : public TableFile {
 public:
  /// `stream` is an ArrowArrayStream*. It is released in every case.
  static Result<std::shared_ptr<const TableFile>> of_stream(void* stream, const TableReading& reading);

  const Schema& schema() const override { return plan_.schema; }
  std::vector<std::pair<std::string, std::string>> unmapped() const override { return plan_.unmapped; }
  std::optional<TimeType> time_type(size_t field) const override { return forebay::time_type(plan_, field); }
  Origin origin(size_t field) const override { return forebay::origin(plan_, field); }
  bool is_mask(size_t field) const override { return plan_.outputs[field].is_mask(); }
  Status field_status(size_t field) const override { return plan_.leaves[plan_.outputs[field].leaf].status; }
  int64_t groups() const override { return static_cast<int64_t>(groups_.size()); }
  int64_t rows(int64_t group) const override;
  std::vector<ByteRange> ranges(int64_t, std::span<const size_t>) const override { return {}; }
  ChunkCost cost(int64_t group, std::span<const size_t> fields) const override;
  FieldBounds bounds(int64_t, size_t) const override { return {}; }
  Result<std::shared_ptr<const TableFile>> with_reading(const TableReading& reading) const override;
  Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                         WorkMemory& memory) const override;

 private:
  MemoryTable() = default;
  Status add(const std::shared_ptr<arrow::RecordBatch>& batch);

  std::shared_ptr<arrow::Schema> arrow_schema_;
  TablePlan plan_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> groups_;
};

}  // namespace forebay
