#include "format/table_manifest.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/convert.h"
#include "base/suggest.h"
#include "base/whole_number.h"
#include "format/table/open_table.h"

namespace forebay {

namespace {

// Limit of one row group, whose columns are copied and freed before the next one is read.
constexpr uint64_t kMaxManifestBytes = uint64_t{1} << 30;

/// One column while its row groups are read.
struct Growing {
  Field field;
  std::string data;
  std::vector<uint64_t> ends;  ///< ends of texts

  void add(const ColumnValues& values, int64_t rows) {
    const char* bytes = reinterpret_cast<const char*>(values.values.data());
    if (field.kind == FieldKind::kTensor) {
      data.append(bytes, static_cast<size_t>(rows) * dtype_size(field.dtype));
      return;
    }
    const int64_t* offsets = values.offset();
    // Offsets count from the chunk's own beginning, which is not 0 if it was sliced.
    const uint64_t begin = data.size();
    data.append(bytes + offsets[0], static_cast<size_t>(offsets[rows] - offsets[0]));
    for (int64_t row = 1; row <= rows; ++row) ends.push_back(begin + static_cast<uint64_t>(offsets[row] - offsets[0]));
  }

  Column finish() && {
    PackedInts packed(ends.size(), data.size());
    for (const uint64_t end : ends) packed.push_back(end);
    Buffer buffer = Buffer::allocate(data.size());
    if (!data.empty()) std::memcpy(buffer.data(), data.data(), data.size());
    return Column(std::move(field), std::move(buffer), std::move(packed));
  }
};

Result<std::vector<Growing>> columns_of(const Schema& schema, const std::string& path_column) {
  std::vector<Growing> columns;
  std::vector<std::string> names;
  for (const Field& each : schema) {
    Field field = each;
    field.fetched = false;
    names.push_back(field.name);
    if (field.name == "bytes" || field.name == "key") {
      return invalid_argument(
          fmt::format("a column is called '{}', which is the name of a field of its own; rename it", field.name));
    }
    const bool single = field.kind == FieldKind::kTensor ? field.shape.rank() == 0 : field.kind == FieldKind::kText;
    if (field.kind == FieldKind::kTextList && field.name == path_column)
      return unsupported(fmt::format(
          "the column {} has lists of paths; write the manifest as JSON lines (.jsonl), where a path may be a "
          "list",
          field.to_string()));
    if (!single) {
      return unsupported(fmt::format("the column {} holds no single number, bool or text; leave it out of the manifest",
                                     field.to_string()));
    }
    columns.push_back({std::move(field), {}, {}});
  }
  const std::optional<size_t> path = schema.find(path_column);
  if (!path) {
    return invalid_argument(fmt::format("no column '{}'{}; there are: {}; say which one holds the paths with path=",
                                        path_column, suggestion_text(path_column, names), fmt::join(names, ", ")));
  }
  if (schema[*path].kind != FieldKind::kText)
    return corrupt(fmt::format("the column {} is not text, so it holds no paths", schema[*path].to_string()));
  return columns;
}

std::vector<std::string> names_of(const std::vector<Growing>& columns) {
  std::vector<std::string> names;
  for (const Growing& column : columns) names.push_back(column.field.name);
  return names;
}

/// Adds one value of a file's column to a column of another type.
Status add_value(const Value& value, uint64_t row, ColumnBuilder& to) {
  if (value.kind == FieldKind::kText)
    return to.add(std::string_view(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()), row);
  switch (value.tensor.dtype) {
    case DType::kFloat16: return to.add(double{half_to_float(*value.tensor.data<uint16_t>())}, row);
    case DType::kFloat32: return to.add(double{*value.tensor.data<float>()}, row);
    case DType::kFloat64: return to.add(*value.tensor.data<double>(), row);
    case DType::kBool: return to.add(*value.tensor.data<uint8_t>() != 0, row);
    case DType::kUint64: return to.add(*value.tensor.data<uint64_t>(), row);
    default: return to.add(whole_number(value).value_or(0), row);
  }
}

Result<Column> as_type(Column column, int64_t rows, const ColumnType& type) {
  const Field& field = column.field();
  if (field.kind == type.kind && (field.kind == FieldKind::kText || field.dtype == type.dtype)) return column;
  ColumnBuilder builder(field.name);
  builder.set_type(type);
  for (int64_t row = 0; row < rows; ++row)
    FOREBAY_RETURN_IF_ERROR(add_value(column.value(row), static_cast<uint64_t>(row + 1), builder));
  return std::move(builder).finish();
}

Result<Columns> read_chunk(const ChunkSource& source, int64_t chunk, const std::stop_token& stop) {
  const ChunkCost cost = source.chunk_cost(chunk);
  if (cost.decoded_bytes > kMaxManifestBytes) {
    return out_of_budget(fmt::format("{} has {} bytes, too many for a manifest; write smaller row groups",
                                     source.chunk_name(chunk), cost.decoded_bytes),
                         cost.decoded_bytes);
  }
  const ChunkSource::ChunkFetch fetch = source.chunk_fetch(chunk);
  std::vector<Buffer> fetched;
  for (const ReadRequest& request : fetch.requests) {
    FOREBAY_ASSIGN(Buffer bytes, read_wait(*fetch.store, request, stop));
    fetched.push_back(std::move(bytes));
  }
  WorkMemory memory(kMaxManifestBytes);
  return source.decode(chunk, std::move(fetched), memory);
}

// The error of the first bad row, if there is one. `begin` is the number of the first row.
Status first_bad_row(const Columns& read, int64_t begin) {
  if (!read.bad_rows || read.bad_rows->empty()) return {};
  const auto& [row, status] = *read.bad_rows->begin();
  // The remedy null= applies to tables only, so it is removed.
  const std::string problem = status.message().substr(0, status.message().find("; give null="));
  return Status(status.code(), fmt::format("row {}: {}; fill it in, or leave the row or the column out of the manifest",
                                           begin + row + 1, problem));
}

Status add_paths(const ColumnValues& paths, int64_t rows, int64_t begin, const std::string& name,
                 ManifestTable& table) {
  for (int64_t row = 0; row < rows; ++row) {
    const std::string_view text(reinterpret_cast<const char*>(paths.values.data()) + paths.offset()[row],
                                static_cast<size_t>(paths.offset()[row + 1] - paths.offset()[row]));
    const auto number = static_cast<uint64_t>(begin + row + 1);
    if (text.empty()) return corrupt(fmt::format("row {}: '{}' is empty", number, name));
    FOREBAY_RETURN_IF_ERROR(table.paths.add(text, number));
  }
  return {};
}

}  // namespace

Result<ManifestTable> read_table_manifest(const StoreAndPath& at, const ObjectInfo& file, const ManifestLayout& layout,
                                          const TableCodecs& codecs, const std::stop_token& stop) {
  DataFiles files{at.store, at.path, {{at.path, file.size, file.version}}};
  FOREBAY_ASSIGN(const auto source, open_table_files(std::move(files), {}, codecs, stop));
  if (source->size() == 0) return not_found("the manifest has no rows");
  FOREBAY_ASSIGN(std::vector<Growing> columns, columns_of(source->schema(), layout.path_column));
  FOREBAY_RETURN_IF_ERROR(check_manifest_types(layout, names_of(columns)));
  ManifestTable table;
  const size_t path = *source->schema().find(layout.path_column);
  for (int64_t chunk = 0; chunk < source->chunks(); ++chunk) {
    FOREBAY_ASSIGN(const Columns read, read_chunk(*source, chunk, stop));
    const int64_t begin = source->chunk_begin(chunk);
    FOREBAY_RETURN_IF_ERROR(first_bad_row(read, begin));
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i != path) columns[i].add(read.values[i], read.rows);
    }
    FOREBAY_RETURN_IF_ERROR(add_paths(read.values[path], read.rows, begin, layout.path_column, table));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i == path) continue;
    Column finished = std::move(columns[i]).finish();
    if (const ColumnType* const type = find_type(layout.types, finished.field().name); type != nullptr) {
      FOREBAY_ASSIGN(finished, as_type(std::move(finished), source->size(), *type));
    }
    table.columns.push_back(std::move(finished));
  }
  return table;
}

}  // namespace forebay
