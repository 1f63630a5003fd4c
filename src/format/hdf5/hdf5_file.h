#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/table_codec.h"
#include "format/hdf5/column.h"

namespace forebay {

/// The fields of one HDF5 file as a table. A group is a range of rows (or windows) that ends at a
/// chunk boundary. Immutable; any thread may use it.
class Hdf5File final : public TableFile {
 public:
  /// `base` is the file offset of address 0.
  Hdf5File(Hdf5Columns columns, const std::optional<Hdf5Windows>& windows, uint64_t base);

  const Schema& schema() const override { return schema_; }
  int64_t groups() const override { return (samples_ + group_samples_ - 1) / group_samples_; }
  int64_t rows(int64_t group) const override;
  std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const override;
  ChunkCost cost(int64_t group, std::span<const size_t> fields) const override;
  FieldBounds bounds(int64_t, size_t) const override { return {}; }
  Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                         WorkMemory& memory) const override;
  uint64_t index_bytes() const override;

 private:
  /// The rows of the file that a group needs.
  struct Rows {
    uint64_t first = 0, count = 0;
  };
  struct RequestedColumn;
  Rows rows_of(int64_t group) const;
  uint64_t item_bytes(const Hdf5Column& column) const;
  uint64_t sample_bytes(const Hdf5Column& column) const;
  uint64_t plan_group_samples() const;
  Status decode_data(size_t data, Rows rows, std::span<RequestedColumn> requested_columns,
                     std::span<const Piece> pieces, Hdf5Filtering& filtering, WorkMemory& memory) const;
  ColumnValues windowed(const Hdf5Column& column, Buffer rows, int64_t samples) const;
  ColumnValues preloaded(const Hdf5Column& column, Rows rows) const;

  const Hdf5Columns columns_;
  const std::optional<Hdf5Windows> windows_;
  const uint64_t base_;
  Schema schema_;
  int64_t samples_ = 0, group_samples_ = 1;
};

}  // namespace forebay
