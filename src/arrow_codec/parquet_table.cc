#include "arrow_codec/parquet_table.h"

#include <algorithm>

#include <arrow/type.h>
#include <fmt/format.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/properties.h>

#include "arrow_codec/arrow_releases.h"
#include "arrow_codec/arrow_status.h"
#include "arrow_codec/byte_ranges.h"
#include "arrow_codec/saturating.h"

namespace forebay {

namespace {

constexpr uint64_t kPaddingBytes = 100;  // old writers omit the header of the dictionary page
// A page states its number of values in 31 bits and has a header of some bytes, which bounds the
// values of a chunk.
constexpr uint64_t kPageHeaderBytes = 8;
constexpr uint64_t kPageValues = INT32_MAX;
constexpr uint64_t kNumberTextBytes = 24;  // for most numbers; longer ones request more

}  // namespace

Result<std::shared_ptr<const TableFile>> ParquetTable::open(std::shared_ptr<parquet::FileMetaData> footer,
                                                            uint64_t file_size, const TableReading& reading) {
  std::shared_ptr<ParquetTable> table(new ParquetTable);
  table->footer_ = std::move(footer);
  table->file_size_ = file_size;
  FOREBAY_RETURN_IF_ERROR(table->make_plan(reading));
  FOREBAY_RETURN_IF_ERROR(table->read_groups());
  for (const Group& group : table->groups_) {
    for (size_t i = 0; i < group.chunks.size() && table->plain_footer_ == nullptr; ++i) {
      if (table->read_plain(table->plan_.leaves[i], group.chunks[i])) table->plain_footer_ = table->plain_footer();
    }
  }
  return std::shared_ptr<const TableFile>(std::move(table));
}

// Leaves and row groups are the same under every null policy.
Result<std::shared_ptr<const TableFile>> ParquetTable::with_reading(const TableReading& reading) const {
  std::shared_ptr<ParquetTable> table(new ParquetTable);
  table->footer_ = footer_;
  table->file_size_ = file_size_;
  table->groups_ = groups_;
  table->plain_footer_ = plain_footer_;
  FOREBAY_RETURN_IF_ERROR(table->make_plan(reading));
  return std::shared_ptr<const TableFile>(std::move(table));
}

Status ParquetTable::make_plan(const TableReading& reading) {
  parquet::arrow::SchemaManifest manifest;
  const auto status = parquet::arrow::SchemaManifest::Make(footer_->schema(), footer_->key_value_metadata(),
                                                           parquet::ArrowReaderProperties(false), &manifest);
  if (!status.ok()) return from_arrow(status, "the schema of the Parquet file");
  arrow::FieldVector columns;
  for (const auto& field : manifest.schema_fields) columns.push_back(field.field);
  FOREBAY_ASSIGN(plan_, plan_table(*arrow::schema(std::move(columns)), reading));
  for (Leaf& leaf : plan_.leaves) {
    if (leaf.number < footer_->num_columns())
      leaf.int96 = footer_->schema()->Column(leaf.number)->physical_type() == parquet::Type::INT96;
  }
  return {};
}

// Arrow divides strings with 32-bit offsets into chunks of 2 GiB and cannot put chunks into
// structs, and it cannot build an extension type from a part of its columns. Both follow from the
// schema that the writer stored. Parquet's own types are sufficient to read the values.
bool ParquetTable::read_plain(const Leaf& leaf, const Chunk& chunk) const {
  const bool large = leaf.own.kind != FieldKind::kTensor && !leaf.steps.empty() && chunk.string_bytes >= kLargeStrings;
  return leaf.in_extension || large;
}

std::shared_ptr<parquet::FileMetaData> ParquetTable::plain_footer() const {
  constexpr std::string_view kKey = "ARROW:schema", kOther = "ARROW:-chema";
  std::string bytes = footer_->SerializeToString();
  for (size_t at = bytes.find(kKey); at != std::string::npos; at = bytes.find(kKey, at))
    bytes.replace(at, kKey.size(), kOther);
  return parse_footer(bytes.data(), static_cast<int64_t>(bytes.size()), parquet::default_reader_properties());
}

Status ParquetTable::read_groups() {
  int64_t sum = 0;
  for (const Leaf& leaf : plan_.leaves) {
    if (leaf.number >= footer_->num_columns())
      return corrupt("the schema of the Parquet file has columns without an end");
  }
  for (int i = 0; i < footer_->num_row_groups(); ++i) {
    const auto metadata = footer_->RowGroup(i);
    Group group;
    group.rows = metadata->num_rows();
    if (group.rows < 0 || __builtin_add_overflow(sum, group.rows, &sum))
      return corrupt(fmt::format("row group {} claims {} rows", i, group.rows));
    if (metadata->num_columns() != footer_->num_columns())
      return corrupt(fmt::format("row group {} has {} columns, the schema {}", i, metadata->num_columns(),
                                 footer_->num_columns()));
    for (const Leaf& leaf : plan_.leaves) {
      auto chunk = read_chunk(*metadata, leaf);
      if (!chunk.ok())
        return Status(chunk.status().code(),
                      fmt::format("row group {}, the column '{}': {}", i, leaf.name, chunk.status().message()));
      group.chunks.push_back(*chunk);
    }
    groups_.push_back(std::move(group));
  }
  return {};  // the footer's own total is ignored: real files say 0
}

Result<ParquetTable::Chunk> ParquetTable::read_chunk(const parquet::RowGroupMetaData& group, const Leaf& leaf) const {
  const auto metadata = group.ColumnChunk(leaf.number);
  if (!metadata->file_path().empty()) return unsupported("its values are in another file");
  const int64_t values = metadata->num_values(), stored = metadata->total_uncompressed_size();
  Chunk chunk;
  FOREBAY_ASSIGN(chunk.range, chunk_range(*metadata));
  if (values < 0 || stored < 0) return corrupt("a size or an offset is negative");
  chunk.values = static_cast<uint64_t>(values);
  chunk.stored_bytes = static_cast<uint64_t>(stored);
  FOREBAY_RETURN_IF_ERROR(check_values(chunk, group, leaf));
  if (leaf.strings()) chunk.string_bytes = string_bytes(*metadata, chunk, leaf);
  return chunk;
}

Result<ByteRange> ParquetTable::chunk_range(const parquet::ColumnChunkMetaData& chunk) const {
  const int64_t length = chunk.total_compressed_size();
  int64_t begin = chunk.data_page_offset();
  if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0)
    // Writers put it before the data pages, but the format does not require that. Some write 0 if
    // there is none.
    begin = std::min(begin, chunk.dictionary_page_offset());
  if (length < 0 || begin < 0) return corrupt("a size or an offset is negative");
  ByteRange range{static_cast<uint64_t>(begin), static_cast<uint64_t>(length)};
  if (range.length > file_size_ || range.offset > file_size_ - range.length)
    return corrupt(fmt::format("{} bytes at {} are outside of the file, which has {}", length, begin, file_size_));
  if (footer_->writer_version().VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION()))
    range.length += std::min(kPaddingBytes, file_size_ - range.offset - range.length);
  return range;
}

Status ParquetTable::check_values(const Chunk& chunk, const parquet::RowGroupMetaData& group, const Leaf& leaf) const {
  if (chunk.values > saturating_times(chunk.range.length / kPageHeaderBytes + 1, kPageValues))
    return corrupt(fmt::format("claims {} values in {} bytes", chunk.values, chunk.range.length));
  const auto rows = static_cast<uint64_t>(group.num_rows());
  // Without lists there is one value or null per row; with lists there is at least one.
  const bool lists = footer_->schema()->Column(leaf.number)->max_repetition_level() > 0;
  if (lists ? chunk.values < rows : chunk.values != rows)
    return corrupt(fmt::format("has {} values for {} rows", chunk.values, rows));
  return {};
}

uint64_t ParquetTable::string_bytes(const parquet::ColumnChunkMetaData& metadata, const Chunk& chunk,
                                    const Leaf& leaf) const {
  const parquet::ColumnDescriptor& column = *footer_->schema()->Column(leaf.number);
  if (column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY)
    return saturating_times(chunk.values, static_cast<uint64_t>(column.type_length()));
  if (const auto stated = stated_string_bytes(metadata)) return static_cast<uint64_t>(std::max<int64_t>(0, *stated));
  if (leaf.own.kind == FieldKind::kTensor) return saturating_times(chunk.values, kNumberTextBytes);
  return chunk.stored_bytes;
}

std::vector<size_t> ParquetTable::leaves_of(std::span<const size_t> fields) const {
  std::vector<size_t> leaves;
  for (const size_t field : fields) leaves.push_back(plan_.outputs[field].leaf);
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return leaves;
}

std::vector<ByteRange> ParquetTable::ranges(int64_t group, std::span<const size_t> fields) const {
  std::vector<ByteRange> all;
  for (const size_t leaf : leaves_of(fields)) all.push_back(groups_[static_cast<size_t>(group)].chunks[leaf].range);
  return disjoint_ranges(std::move(all));
}

uint64_t ParquetTable::decoded_bytes(const Group& group, size_t field) const {
  const Output& output = plan_.outputs[field];
  const Leaf& leaf = plan_.leaves[output.leaf];
  const Chunk& chunk = group.chunks[output.leaf];
  const auto rows = static_cast<uint64_t>(group.rows);
  const uint64_t offsets = saturating_times(rows + 1, sizeof(int64_t));
  switch (output.role) {
    case Output::Role::kValues:
      if (leaf.string_lists()) {
        const uint64_t strings = saturating_times(saturating_plus(chunk.values, rows), sizeof(uint32_t));
        return saturating_plus(saturating_plus(chunk.string_bytes, strings), offsets);
      }
      if (leaf.strings()) return saturating_plus(chunk.string_bytes, offsets);
      if (leaf.lists == 0)
        return saturating_times(saturating_times(rows, static_cast<uint64_t>(leaf.elements())), dtype_size(leaf.dtype));
      return saturating_plus(saturating_times(chunk.values, dtype_size(leaf.dtype)), offsets);
    case Output::Role::kLengths: return saturating_plus(saturating_times(chunk.values, sizeof(int32_t)), offsets);
    case Output::Role::kValid: return rows;
    case Output::Role::kItemsValid:
      if (leaf.lists == 0) return saturating_times(rows, static_cast<uint64_t>(leaf.elements()));
      return saturating_plus(chunk.values, offsets);
  }
  return 0;
}

ChunkCost ParquetTable::cost(int64_t group, std::span<const size_t> fields) const {
  ChunkCost cost;
  for (const ByteRange& range : ranges(group, fields)) cost.fetched_bytes += range.length;
  for (const size_t field : fields)
    cost.decoded_bytes = saturating_plus(cost.decoded_bytes, decoded_bytes(groups_[static_cast<size_t>(group)], field));
  return cost;
}

}  // namespace forebay
