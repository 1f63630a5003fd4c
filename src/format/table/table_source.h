#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "base/remembered_hashes.h"
#include "format/table/table_data.h"

namespace forebay {

/// Some columns of a table, in some order. A chunk is a row group, and ids number the rows of all
/// files. Several sources share one TableData. Immutable except for remembered hashes; any thread
/// may call any method.
class TableSource final : public ChunkSource {
 public:
  /// A source with all columns.
  explicit TableSource(std::shared_ptr<const TableData> data);
  /// A source with some columns, given by their indices in the table.
  TableSource(std::shared_ptr<const TableData> data, std::vector<size_t> columns);

  const TableData& data() const { return *data_; }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return data_->begins.back(); }
  Hash128 version() const override { return data_->version; }
  uint64_t index_bytes() const override { return data_->index_bytes() + contents_.bytes(); }
  /// Such as "train/part-3.parquet row 17".
  std::string key(int64_t id) const override;

  int64_t chunks() const override { return static_cast<int64_t>(data_->chunks.size()); }
  int64_t chunk_begin(int64_t chunk) const override { return data_->begins[static_cast<size_t>(chunk)]; }
  std::string chunk_name(int64_t chunk) const override { return data_->chunk_name(static_cast<size_t>(chunk)); }
  ChunkCost chunk_cost(int64_t chunk) const override;
  ChunkFetch chunk_fetch(int64_t chunk) const override;
  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const override;
  std::optional<Hash128> chunk_identity(int64_t chunk) const override;
  std::string time_name(size_t field) const override;
  bool is_of_folder(size_t field) const override;
  bool is_mask(size_t field) const override;
  const std::vector<uint64_t>* kept_rows() const override { return data_->kept ? &*data_->kept : nullptr; }
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const override;

 private:
  struct Wanted {
    std::vector<size_t> fields;   ///< indices in the file, ascending
    std::vector<size_t> columns;  ///< for each of `fields`, its index in columns_
  };
  const TablePart& part_of(int64_t chunk) const { return data_->parts[data_->chunks[static_cast<size_t>(chunk)].part]; }
  Wanted wanted(int64_t chunk) const;
  std::vector<ReadRequest> reads(int64_t chunk, const Wanted& wanted) const;
  Result<Columns> decode_file(int64_t chunk, const Wanted& wanted, std::vector<Buffer> fetched,
                              WorkMemory& memory) const;
  /// Adds the undecided rows of the chunk (see UndecidedRows) to the bad rows of `columns`.
  void note_undecided(int64_t chunk, Columns& columns) const;
  bool has_undecided(int64_t chunk) const;
  /// Hash of the chunk's rows in a table in memory. The first call decodes the chunk.
  std::optional<Hash128> content_identity(int64_t chunk) const;
  /// Values of a column that is not in the file: a partition column, or one that the file lacks.
  ColumnValues constant(size_t index, size_t part, int64_t rows) const;
  /// All rows, each with an error, if the file lacks a column that has no fill value; otherwise
  /// empty.
  std::map<int64_t, Status> rows_without_column(size_t part, int64_t rows) const;
  uint64_t constant_bytes(int64_t chunk) const;

  const std::shared_ptr<const TableData> data_;
  const std::vector<size_t> columns_;
  Schema schema_;
  mutable RememberedHashes contents_;
};

}  // namespace forebay
