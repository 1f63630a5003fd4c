#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/metadata.h>

#include "arrow_codec/columns_writer.h"
#include "arrow_codec/table_plan.h"
#include "base/table_codec.h"

namespace forebay {

/// A Parquet file whose footer has been read. Its groups are the file's row groups. Immutable; any
/// thread may decode.
///
/// A decode reserves the memory of pages and levels in addition to the columns, and requests more
/// if the footer's sizes do not suffice. Page checksums are verified if present.
class ParquetTable final : public TableFile {
 public:
  /// Checks everything in the footer against `file_size` and for consistency.
  static Result<std::shared_ptr<const TableFile>> open(std::shared_ptr<parquet::FileMetaData> footer,
                                                       uint64_t file_size, const TableReading& reading);

  const Schema& schema() const override { return plan_.schema; }
  std::vector<std::pair<std::string, std::string>> unmapped() const override { return plan_.unmapped; }
  std::optional<TimeType> time_type(size_t field) const override { return forebay::time_type(plan_, field); }
  Origin origin(size_t field) const override { return forebay::origin(plan_, field); }
  bool is_mask(size_t field) const override { return plan_.outputs[field].is_mask(); }
  Status field_status(size_t field) const override { return plan_.leaves[plan_.outputs[field].leaf].status; }
  int64_t groups() const override { return static_cast<int64_t>(groups_.size()); }
  int64_t rows(int64_t group) const override { return groups_[static_cast<size_t>(group)].rows; }
  std::vector<ByteRange> ranges(int64_t group, std::span<const size_t> fields) const override;
  ChunkCost cost(int64_t group, std::span<const size_t> fields) const override;
  FieldBounds bounds(int64_t group, size_t field) const override;
  /// A footer takes about twelve times its stored size in memory.
  uint64_t index_bytes() const override {
    return uint64_t{12} * footer_->size() + groups_.size() * plan_.leaves.size() * sizeof(Chunk);
  }
  Result<std::shared_ptr<const TableFile>> with_reading(const TableReading& reading) const override;
  Result<Columns> decode(int64_t group, std::span<const size_t> fields, std::span<const Piece> pieces,
                         WorkMemory& memory) const override;

 private:
  /// The data of one leaf in one row group.
  struct Chunk {
    ByteRange range;
    uint64_t values = 0;        ///< includes nulls and empty lists
    uint64_t stored_bytes = 0;  ///< decompressed pages
    uint64_t string_bytes = 0;  ///< for strings: a bound from statistics, or an estimate
  };
  struct Group {
    int64_t rows = 0;
    std::vector<Chunk> chunks;  ///< by leaf of the plan
  };

  ParquetTable() = default;
  Status make_plan(const TableReading& reading);
  Status read_groups();
  Result<Chunk> read_chunk(const parquet::RowGroupMetaData& group, const Leaf& leaf) const;
  Result<ByteRange> chunk_range(const parquet::ColumnChunkMetaData& chunk) const;
  Status check_values(const Chunk& chunk, const parquet::RowGroupMetaData& group, const Leaf& leaf) const;
  uint64_t string_bytes(const parquet::ColumnChunkMetaData& metadata, const Chunk& chunk, const Leaf& leaf) const;
  /// Leaves that these fields need, ascending.
  std::vector<size_t> leaves_of(std::span<const size_t> fields) const;
  uint64_t decoded_bytes(const Group& group, size_t field) const;
  uint64_t transient_bytes(const Group& group, std::span<const size_t> leaves) const;
  Status check_pages(const Group& group, std::span<const size_t> leaves, std::span<const Piece> pieces) const;
  class LeafReader;
  Status decode_leaf(size_t index, const Chunk& chunk, LeafReader& reader, ColumnsWriter& writer) const;
  Result<arrow::ArrayVector> read_as_plain(const Leaf& leaf, LeafReader& reader) const;

  /// Strings in structs and lists are read with 64-bit offsets if they have at least this many
  /// bytes in a row group.
  static constexpr uint64_t kLargeStrings = uint64_t{1} << 30;
  /// True if a leaf is read with Parquet's own types, ignoring the Arrow schema that its writer
  /// stored in the footer.
  bool read_plain(const Leaf& leaf, const Chunk& chunk) const;
  /// The footer without the Arrow schema.
  std::shared_ptr<parquet::FileMetaData> plain_footer() const;

  std::shared_ptr<parquet::FileMetaData> footer_;
  /// Opened without the Arrow schema; null if no leaf needs it.
  std::shared_ptr<parquet::FileMetaData> plain_footer_;
  uint64_t file_size_ = 0;
  TablePlan plan_;
  std::vector<Group> groups_;
};

}  // namespace forebay
