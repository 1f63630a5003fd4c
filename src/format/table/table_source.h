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

/// Some columns of a table, in some order. A chunk is a row group; ids count the rows of all files.
/// Immutable but for remembered hashes; every method from any thread, as Source says. Several share one TableData.
class TableSource final : public ChunkSource {
 public:
  /// All columns.
  explicit TableSource(std::shared_ptr<const TableData> data);
  /// `columns`: indices into the table's.
  TableSource(std::shared_ptr<const TableData> data, std::vector<size_t> columns);

  const TableData& data() const { return *data_; }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return data_->begins.back(); }
  Hash128 version() const override { return data_->version; }
  uint64_t index_bytes() const override { return data_->index_bytes() + contents_.bytes(); }
  /// "train/part-3.parquet row 17".
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
    std::vector<size_t> fields;   ///< of the file, ascending
    std::vector<size_t> columns;  ///< which of columns_ each of them is
  };
  const TablePart& part_of(int64_t chunk) const { return data_->parts[data_->chunks[static_cast<size_t>(chunk)].part]; }
  Wanted wanted(int64_t chunk) const;
  std::vector<ReadRequest> reads(int64_t chunk, const Wanted& wanted) const;
  Result<Columns> decode_file(int64_t chunk, const Wanted& wanted, std::vector<Buffer> fetched,
                              WorkMemory& memory) const;
  /// Adds to `columns` the rows of the chunk that the filter could not decide.
  void note_undecided(int64_t chunk, Columns& columns) const;
  bool has_undecided(int64_t chunk) const;
  /// Of a table in memory: of its rows, as they are. The first time it decodes the chunk.
  std::optional<Hash128> content_identity(int64_t chunk) const;
  /// A column that is not in the file: of a folder, or one that the file lacks.
  ColumnValues constant(size_t index, size_t part, int64_t rows) const;
  /// All rows, where the file lacks a column that has no value for nulls; else none.
  std::map<int64_t, Status> rows_without_column(size_t part, int64_t rows) const;
  uint64_t constant_bytes(int64_t chunk) const;

  const std::shared_ptr<const TableData> data_;
  const std::vector<size_t> columns_;
  Schema schema_;
  mutable RememberedHashes contents_;
};

}  // namespace forebay
