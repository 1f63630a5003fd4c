#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "arrow_codec/ipc_footer.h"
#include "arrow_codec/table_plan.h"
#include "base/table_codec.h"

namespace forebay {

class Allowance;

/// An Arrow file whose index has been read. Its groups are the file's record batches. Immutable;
/// any thread may decode.
///
/// Costs of compressed batches are estimates (four times the stored size), because their heads do
/// not tell. A decode requests the missing memory from WorkMemory. There are no statistics, so
/// bounds() returns nothing.
class IpcTable final : public TableFile {
 public:
  /// `index` holds the footer, the heads of the batches and the dictionaries. The table keeps it.
  static Result<std::shared_ptr<const TableFile>> open(std::vector<Piece> index, IpcFooter footer, uint64_t file_size,
                                                       const TableReading& reading);

  const Schema& schema() const override { return plan_.schema; }
  std::vector<std::pair<std::string, std::string>> unmapped() const override { return plan_.unmapped; }
  std::optional<TimeType> time_type(size_t field) const override { return forebay::time_type(plan_, field); }
  Origin origin(size_t field) const override { return forebay::origin(plan_, field); }
  bool is_mask(size_t field) const override { return plan_.outputs[field].is_mask(); }
  Status field_status(size_t field) const override { return plan_.leaves[plan_.outputs[field].leaf].status; }
  uint64_t index_bytes() const override;
  int64_t groups() const override { return static_cast<int64_t>(batches_.size()); }
  int64_t rows(int64_t group) const override { return batches_[static_cast<size_t>(group)].rows; }
  std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const override;
  ChunkCost cost(int64_t group, std::span<const size_t> fields) const override;
  FieldBounds bounds(int64_t, size_t) const override { return {}; }
  Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                         WorkMemory& memory) const override;

 private:
  struct Batch {
    int64_t rows = 0;
    bool compressed = false;
    std::vector<ByteRange> columns;  ///< range of each column's buffers in the file
  };

  IpcTable() = default;
  Status read_batches(const IpcFooter& footer, const arrow::Schema& schema);
  /// Reads these columns of a batch. Other elements of the result are null.
  Result<arrow::ArrayVector> read_arrays(int64_t group, std::vector<int> columns, std::span<const Piece> pieces,
                                         const Allowance& allowance) const;
  Result<Batch> read_batch(const IpcBlock& block, const arrow::Schema& schema) const;

  std::vector<Piece> index_;
  uint64_t file_size_ = 0;
  TablePlan plan_;
  std::vector<Batch> batches_;
};

}  // namespace forebay
