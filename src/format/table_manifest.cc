#include "format/table_manifest.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"
#include "format/table/open_table.h"

namespace forebay {

namespace {

// Of one row group: its columns are copied out and let go before the next is read.
constexpr uint64_t kMostManifestBytes = uint64_t{1} << 30;

/// One column while its row groups are read.
struct Growing {
  Field field;
  std::string data;
  std::vector<uint64_t> ends;  ///< of texts

  void add(const ColumnValues& values, int64_t rows) {
    const char* bytes = reinterpret_cast<const char*>(values.values.data());
    if (field.kind == FieldKind::kTensor) {
      data.append(bytes, static_cast<size_t>(rows) * dtype_size(field.dtype));
      return;
    }
    const int64_t* offsets = values.offset();
    // Offsets of a unit count from its own beginning, which may not be 0 where it was sliced.
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

Result<Columns> read_unit(const UnitSource& source, int64_t unit, const std::stop_token& stop) {
  const UnitCost cost = source.unit_cost(unit);
  if (cost.decoded_bytes > kMostManifestBytes) {
    return out_of_budget(fmt::format("{} has {} bytes, too many for a manifest; write smaller row groups",
                                     source.unit_name(unit), cost.decoded_bytes),
                         cost.decoded_bytes);
  }
  const UnitSource::UnitFetch fetch = source.unit_fetch(unit);
  std::vector<Buffer> fetched;
  for (const ReadRequest& request : fetch.requests) {
    FOREBAY_ASSIGN(Buffer bytes, read_wait(*fetch.store, request, stop));
    fetched.push_back(std::move(bytes));
  }
  WorkMemory memory(kMostManifestBytes);
  return source.decode(unit, std::move(fetched), memory);
}

}  // namespace

Result<ManifestTable> read_table_manifest(const StoreAndPath& place, const ObjectInfo& file,
                                          const std::string& path_column, const TableCodecs& codecs,
                                          const std::stop_token& stop) {
  TableFiles files{place.store, place.path, {{place.path, file.size, file.version}}};
  FOREBAY_ASSIGN(const auto source, open_table_files(std::move(files), {}, codecs, stop));
  if (source->size() == 0) return not_found("the manifest has no rows");
  FOREBAY_ASSIGN(std::vector<Growing> columns, columns_of(source->schema(), path_column));
  ManifestTable table;
  const size_t path = *source->schema().find(path_column);
  for (int64_t unit = 0; unit < source->units(); ++unit) {
    FOREBAY_ASSIGN(const Columns read, read_unit(*source, unit, stop));
    if (read.bad_rows && !read.bad_rows->empty()) {
      const auto& [row, status] = *read.bad_rows->begin();
      // The advice is that of a table, which has null=.
      const std::string what = status.message().substr(0, status.message().find("; give null="));
      return Status(status.code(),
                    fmt::format("row {}: {}; fill it in, or leave the row or the column out of the manifest",
                                source->unit_begin(unit) + row + 1, what));
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i != path) columns[i].add(read.values[i], read.rows);
    }
    const ColumnValues& paths = read.values[path];
    for (int64_t row = 0; row < read.rows; ++row) {
      const std::string_view text(reinterpret_cast<const char*>(paths.values.data()) + paths.offset()[row],
                                  static_cast<size_t>(paths.offset()[row + 1] - paths.offset()[row]));
      const auto number = static_cast<uint64_t>(source->unit_begin(unit) + row + 1);
      if (text.empty()) return corrupt(fmt::format("row {}: '{}' is empty", number, path_column));
      FOREBAY_RETURN_IF_ERROR(table.paths.add(text, number));
    }
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i != path) table.columns.push_back(std::move(columns[i]).finish());
  }
  return table;
}

}  // namespace forebay
