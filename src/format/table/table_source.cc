#include "format/table/table_source.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "base/byte_count.h"
#include "base/suggest.h"
#include "forebay/string_list.h"
#include "format/files/joined_reads.h"

namespace forebay {

namespace {

std::vector<size_t> all_of(const TableData& data) {
  std::vector<size_t> columns(data.schema.columns.size());
  std::iota(columns.begin(), columns.end(), size_t{0});
  return columns;
}

template <typename T>
ColumnValues repeated(T value, int64_t rows) {
  ColumnValues column;
  column.values = Buffer::allocate(static_cast<size_t>(rows) * sizeof(T));
  std::fill_n(reinterpret_cast<T*>(column.values.data()), rows, value);
  return column;
}

ColumnValues repeated(const std::string& text, int64_t rows) {
  ColumnValues column;
  column.values = Buffer::allocate(static_cast<size_t>(rows) * text.size());
  column.offsets = Buffer::allocate(static_cast<size_t>(rows + 1) * sizeof(int64_t));
  auto* offsets = reinterpret_cast<int64_t*>(column.offsets.data());
  for (int64_t row = 0; row <= rows; ++row) {
    offsets[row] = row * static_cast<int64_t>(text.size());
    if (row < rows && !text.empty()) std::memcpy(column.values.data() + offsets[row], text.data(), text.size());
  }
  return column;
}

bool has_offsets(const Field& field) { return field.kind != FieldKind::kTensor || is_ragged(field); }

/// The fill value, repeated `count` times.
Buffer repeated_bytes(const std::string& value, size_t count) {
  Buffer bytes = Buffer::allocate(value.size() * count);
  for (size_t i = 0; i < count && !value.empty(); ++i)
    std::memcpy(bytes.data() + i * value.size(), value.data(), value.size());
  return bytes;
}

/// Bytes per row of a column that the file lacks.
uint64_t absent_row_bytes(const TableColumn& column) {
  const bool single = column.field.kind == FieldKind::kText || column.field.kind == FieldKind::kBytes;
  if (single) return sizeof(int64_t) + column.fill.bytes.size();
  return has_offsets(column.field) ? sizeof(int64_t) + sizeof(uint32_t) : row_bytes(column.field);
}

/// Rows of a column that the file lacks: the fill value, zeros, or empty lists. `valid` is the
/// value of a mask.
ColumnValues absent(const TableColumn& column, bool valid, int64_t rows) {
  const Field& field = column.field;
  if (field.kind == FieldKind::kText || field.kind == FieldKind::kBytes) return repeated(column.fill.bytes, rows);
  if (field.string_list()) {
    // An empty list takes only the offset at which its strings would begin.
    const auto end = static_cast<uint32_t>(StringList::run_bytes(0, 0));
    return repeated(std::string(reinterpret_cast<const char*>(&end), sizeof end), rows);
  }
  ColumnValues none;
  if (has_offsets(field)) {
    none.offsets = Buffer::allocate(static_cast<size_t>(rows + 1) * sizeof(int64_t));
    std::memset(none.offsets.data(), 0, none.offsets.size());
    return none;
  }
  std::string element = column.fill.bytes;
  if (column.role != TableColumn::Role::kValues) element.assign(dtype_size(field.dtype), valid ? '\1' : '\0');
  none.values = repeated_bytes(element, static_cast<size_t>(rows) * static_cast<size_t>(field.shape.elements()));
  return none;
}

}  // namespace

TableSource::TableSource(std::shared_ptr<const TableData> data) : TableSource(data, all_of(*data)) {}

TableSource::TableSource(std::shared_ptr<const TableData> data, std::vector<size_t> columns)
    : data_(std::move(data)), columns_(std::move(columns)),
      contents_(static_cast<int64_t>(data_->chunks.size()), INT64_MAX) {
  for (size_t column : columns_) schema_.push_back(data_->schema.columns[column].field);
}

std::string TableSource::key(int64_t id) const {
  const auto after = std::ranges::upper_bound(data_->part_begins, id);
  const size_t part = static_cast<size_t>(after - data_->part_begins.begin()) - 1;
  return fmt::format("{} row {}", data_->part_name(part), id - data_->part_begins[part]);
}

TableSource::Wanted TableSource::wanted(int64_t chunk) const {
  const ColumnLayout& layout = data_->schema.layout_of_part(data_->chunks[static_cast<size_t>(chunk)].part);
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (in_file(layout[columns_[i]])) pairs.emplace_back(layout[columns_[i]], i);
  }
  // Codecs take fields in the file's order; users get columns in the requested order.
  std::ranges::sort(pairs);
  Wanted wanted;
  for (const auto& [field, column] : pairs) {
    wanted.fields.push_back(field);
    wanted.columns.push_back(column);
  }
  return wanted;
}

uint64_t TableSource::constant_bytes(int64_t chunk) const {
  const size_t part = data_->chunks[static_cast<size_t>(chunk)].part;
  const ColumnLayout& layout = data_->schema.layout_of_part(part);
  uint64_t row_bytes = 0;
  for (size_t index : columns_) {
    if (in_file(layout[index])) continue;
    const TableColumn& column = data_->schema.columns[index];
    if (column.from == TableColumn::From::kFile) {
      row_bytes += absent_row_bytes(column);
    } else if (column.field.kind == FieldKind::kText) {
      const auto& text = data_->partitions[column.partition].texts[part];
      row_bytes += sizeof(int64_t) + (text ? *text : data_->partition_nulls[column.partition].text).size();
    } else {
      row_bytes += dtype_size(column.field.dtype);
    }
  }
  const auto rows = static_cast<uint64_t>(data_->rows(static_cast<size_t>(chunk)));
  return (ByteCount(row_bytes) * rows).value();
}

ChunkCost TableSource::chunk_cost(int64_t chunk) const {
  const Wanted need = wanted(chunk);
  ChunkCost cost;
  if (!need.fields.empty())
    cost = part_of(chunk).file->cost(data_->chunks[static_cast<size_t>(chunk)].group, need.fields);
  cost.decoded_bytes = (ByteCount(cost.decoded_bytes) + constant_bytes(chunk)).value();
  return cost;
}

std::vector<ReadRequest> TableSource::reads(int64_t chunk, const Wanted& need) const {
  // All values come from folder names, so nothing is read.
  if (!data_->store || need.fields.empty()) return {};
  const TablePart& part = part_of(chunk);
  return joined_reads(part.key, part.size,
                      part.file->ranges(data_->chunks[static_cast<size_t>(chunk)].group, need.fields));
}

ChunkSource::ChunkFetch TableSource::chunk_fetch(int64_t chunk) const {
  ChunkFetch fetch{nullptr, reads(chunk, wanted(chunk))};
  if (!fetch.requests.empty()) fetch.store = data_->store.get();
  return fetch;
}

Result<Columns> TableSource::decode_file(int64_t chunk, const Wanted& need, std::vector<Buffer> fetched,
                                         WorkMemory& memory) const {
  const std::vector<ReadRequest> requests = reads(chunk, need);
  if (fetched.size() != requests.size()) return internal_error("a chunk's reads gave another number of buffers");
  std::vector<TableFile::Piece> pieces;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (fetched[i].size() != requests[i].range->length) return internal_error("a chunk's read gave another length");
    pieces.push_back({requests[i].range->offset, std::move(fetched[i])});
  }
  const TableChunk& chunk_data = data_->chunks[static_cast<size_t>(chunk)];
  FOREBAY_ASSIGN(Columns columns, part_of(chunk).file->decode(chunk_data.group, need.fields, pieces, memory));
  const int64_t rows = data_->rows(static_cast<size_t>(chunk));
  if (columns.values.size() != need.fields.size()) return internal_error("decoding gave another number of columns");
  // Ids follow from the index, so another number of rows would shift the ids of all later rows.
  if (columns.rows != rows)
    return corrupt(fmt::format("holds {} rows where the file's index says {}; restore the file", columns.rows, rows));
  return columns;
}

ColumnValues TableSource::constant(size_t index, size_t part, int64_t rows) const {
  const TableColumn& column = data_->schema.columns[index];
  if (column.from == TableColumn::From::kFile)
    return absent(column, data_->schema.layout_of_part(part)[index] == kAllValid, rows);
  const PartitionColumn& partition = data_->partitions[column.partition];
  const bool null = partition.is_null(part);
  if (column.from == TableColumn::From::kFolderValid) return repeated<uint8_t>(null ? 0 : 1, rows);
  const PartitionNull& instead = data_->partition_nulls[column.partition];
  if (partition.is_integer) return repeated<int64_t>(null ? instead.integer : partition.integers[part], rows);
  return repeated(null ? instead.text : *partition.texts[part], rows);
}

std::map<int64_t, Status> TableSource::rows_without_column(size_t part, int64_t rows) const {
  std::map<int64_t, Status> bad;
  const ColumnLayout& layout = data_->schema.layout_of_part(part);
  for (const size_t index : columns_) {
    const TableColumn& column = data_->schema.columns[index];
    const bool values = column.from == TableColumn::From::kFile && column.role == TableColumn::Role::kValues;
    if (!values || layout[index] != kNowhere || column.fill.kind != NullPolicy::Kind::kError) continue;
    const Status reason = corrupt(
        fmt::format("the column '{}' is null here, since '{}' does not have it; give null= a value, or fb.NULL_MASK",
                    column.field.name, data_->part_name(part)));
    for (int64_t row = 0; row < rows; ++row) bad.emplace_hint(bad.end(), row, reason);
    return bad;
  }
  return bad;
}

Result<Columns> TableSource::decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const {
  // The filter could not decide any row of such a chunk, because its data is damaged.
  if (const auto damaged = data_->undecided.chunks.find(static_cast<size_t>(chunk));
      damaged != data_->undecided.chunks.end())
    return damaged->second;
  const Wanted need = wanted(chunk);
  const size_t part = data_->chunks[static_cast<size_t>(chunk)].part;
  Columns result;
  result.schema = schema_;
  result.rows = data_->rows(static_cast<size_t>(chunk));
  result.values.resize(columns_.size());
  std::vector<bool> from_file(columns_.size());
  if (!need.fields.empty()) {
    Result<Columns> file = decode_file(chunk, need, std::move(fetched), memory);
    if (!file.ok()) return file.status().with_key(chunk_name(chunk));
    for (size_t i = 0; i < need.columns.size(); ++i) {
      result.values[need.columns[i]] = std::move(file->values[i]);
      from_file[need.columns[i]] = true;
    }
    result.bad_rows = std::move(file->bad_rows);
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!from_file[i]) result.values[i] = constant(columns_[i], part, result.rows);
  }
  if (auto bad = rows_without_column(part, result.rows); !bad.empty())
    result.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad));
  if (has_undecided(chunk)) note_undecided(chunk, result);
  return result;
}

void TableSource::note_undecided(int64_t chunk, Columns& columns) const {
  auto bad = columns.bad_rows ? *columns.bad_rows : std::map<int64_t, Status>();
  const int64_t begin = chunk_begin(chunk), end = chunk_begin(chunk + 1);
  const auto& rows = data_->undecided.rows;
  for (auto row = rows.lower_bound(begin); row != rows.end() && row->first < end; ++row)
    bad.emplace(row->first - begin, row->second);
  columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(bad));
}

bool TableSource::has_undecided(int64_t chunk) const {
  if (data_->undecided.chunks.contains(static_cast<size_t>(chunk))) return true;
  const auto row = data_->undecided.rows.lower_bound(chunk_begin(chunk));
  return row != data_->undecided.rows.end() && row->first < chunk_begin(chunk + 1);
}

std::string TableSource::time_name(size_t field) const {
  // The first file that has the column decides; all files agree, because otherwise unite_schemas() would have
  // failed.
  for (size_t part = 0; part < data_->parts.size(); ++part) {
    const size_t at = data_->schema.layout_of_part(part)[columns_[field]];
    if (!in_file(at)) continue;
    const std::optional<TimeType> time = data_->parts[part].file->time_type(at);
    // Empty for units that NumPy has no name for, such as half days.
    return time ? time_word(*time) : "";
  }
  return {};
}

bool TableSource::is_of_folder(size_t field) const {
  return data_->schema.columns[columns_[field]].from != TableColumn::From::kFile;
}

bool TableSource::is_mask(size_t field) const {
  const TableColumn& column = data_->schema.columns[columns_[field]];
  if (column.from != TableColumn::From::kFile) return column.from == TableColumn::From::kFolderValid;
  return column.role == TableColumn::Role::kMask;
}

std::optional<Hash128> TableSource::chunk_identity(int64_t chunk) const {
  const TablePart& part = part_of(chunk);
  // Undecided rows are bad only in this data set, so the chunk must not be shared with other
  // loaders through a cache.
  if (has_undecided(chunk)) return std::nullopt;
  if (!data_->store) return content_identity(chunk);
  if (part.version == 0) return std::nullopt;
  Hasher hasher;
  hasher.update(fmt::format("{}\n{} {} {}\n{}\n", data_->store->display_name(part.key), part.size, part.version,
                            data_->chunks[static_cast<size_t>(chunk)].group, data_->decoded_by));
  hasher.update(column_types_text(part.types));
  for (const Field& field : schema_) hasher.update(fmt::format("{}:{}\n", field.name.size(), field.to_string()));
  return hasher.digest();
}

std::optional<Hash128> TableSource::content_identity(int64_t chunk) const {
  if (const std::optional<Hash128> known = contents_.find(chunk)) return known;
  WorkMemory memory;
  const Result<Columns> columns = decode(chunk, {}, memory);
  if (!columns.ok()) return std::nullopt;
  const Hash128 content = content_hash(*columns);
  contents_.keep(chunk, content);
  return content;
}

Result<std::shared_ptr<const ChunkSource>> TableSource::with_fields(std::span<const std::string> names) const {
  std::vector<size_t> columns;
  for (const std::string& name : names) {
    const std::optional<size_t> at = schema_.find(name);
    if (!at) {
      std::vector<std::string> known;
      for (const Field& field : schema_) known.push_back(field.name);
      return invalid_argument(fmt::format("the table has no column '{}'{}", name, suggestion_text(name, known)));
    }
    columns.push_back(columns_[*at]);
  }
  return std::shared_ptr<const ChunkSource>(std::make_shared<TableSource>(data_, std::move(columns)));
}

}  // namespace forebay
