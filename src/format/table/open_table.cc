#include "format/table/open_table.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "format/files/find_files.h"
#include "format/table/filter_rows.h"
#include "format/table/table_index.h"
#include "format/table/table_source.h"

namespace forebay {

namespace {

constexpr std::array<std::string_view, 3> kParquetEndings = {".parquet", ".parq", ".pq"};
constexpr std::array<std::string_view, 4> kArrowEndings = {".arrow", ".feather", ".ipc", ".ftr"};

using Files = std::vector<std::shared_ptr<const TableFile>>;

std::vector<std::string> filter_columns(const RowFilter& filter) {
  std::set<std::string> names;
  for (const auto& all : filter) {
    for (const RowCondition& condition : all) names.insert(condition.column);
  }
  return {names.begin(), names.end()};
}

/// Gives partition columns the types that they have in the model.
Status take_types(std::vector<PartitionColumn>& columns, const TableModel& model, const std::string& file) {
  const bool same = std::ranges::equal(columns, model.partitions, {}, &PartitionColumn::name, &PartitionColumn::name);
  if (!same)
    return invalid_argument(fmt::format(
        "'{}' lies in folders of other names than '{}'; all files need the same, in the same order", file, model.name));
  for (size_t i = 0; i < columns.size(); ++i) {
    PartitionColumn& column = columns[i];
    const bool all_null = std::ranges::none_of(column.texts, [](const auto& text) { return text.has_value(); });
    if (model.partitions[i].is_integer && !column.is_integer && !all_null)
      return invalid_argument(fmt::format("'{}' lies in a folder that gives '{}' no integer, where '{}' has one", file,
                                          column.name, model.name));
    column.is_integer = model.partitions[i].is_integer;
    if (column.is_integer) column.integers.resize(column.texts.size());
  }
  return {};
}

/// The files of a table for unite_schemas(), after the model, if there is one.
struct FilesToUnite {
  Files files;
  std::vector<std::string> names;

  FilesToUnite(const TableData& data, const TableModel* model) {
    if (model != nullptr) {
      files.push_back(model->file);
      names.push_back(model->name);
    }
    for (size_t part = 0; part < data.parts.size(); ++part) {
      files.push_back(data.parts[part].file);
      names.push_back(data.part_name(part));
    }
  }
  UniteInput input(const TableData& data, const TableSelection& selection, const TableModel* model) const {
    return {
        files,           names, data.partitions, selection.columns, filter_columns(selection.filter), selection.reading,
        model != nullptr};
  }
};

/// Reopens a file with another reading.
Status read_as(const TableReading& reading, std::shared_ptr<const TableFile>& file) {
  FOREBAY_ASSIGN(auto again, file->with_reading(reading));
  if (again == nullptr) return internal_error("a table cannot be read as other types");
  file = std::move(again);
  return {};
}

/// Reads every file with the types that all have in common. `masked` holds the files that a filter
/// reads; it may be empty.
Status read_alike(TableData& data, const TableSelection& selection, const TableModel* model, Files& masked) {
  const FilesToUnite files(data, model);
  std::vector<ColumnTypes> types = common_types(files.input(data, selection, model));
  if (model != nullptr) types.erase(types.begin());
  for (size_t part = 0; part < data.parts.size(); ++part) {
    TablePart& each = data.parts[part];
    each.types = std::move(types[part]);
    if (each.types == selection.reading.types) continue;
    const bool same = part < masked.size() && masked[part] == each.file;
    Status status = read_as({selection.reading.nulls, each.types}, each.file);
    if (status.ok() && same) masked[part] = each.file;
    if (status.ok() && part < masked.size() && masked[part] != nullptr && !same)
      status = read_as(masks_for_filters(each.types), masked[part]);
    if (!status.ok()) return Status(status).with_key(data.part_name(part));
  }
  return {};
}

Result<UnitedSchema> unite(const TableData& data, const TableSelection& selection, const TableModel* model,
                           DataWarnings* warnings) {
  const FilesToUnite files(data, model);
  UniteInput input = files.input(data, selection, model);
  input.warnings = warnings;
  FOREBAY_ASSIGN(UnitedSchema united, unite_schemas(input));
  // The model is only compared with, and provides no rows.
  if (model != nullptr) united.layout_of.erase(united.layout_of.begin());
  return united;
}

/// The fill value of a null folder under the null policy.
Result<PartitionNull> partition_null(const PartitionColumn& column, const NullPolicy& nulls) {
  PartitionNull instead;
  if (nulls.kind == NullPolicy::Kind::kError) return instead;
  instead.allowed = true;
  if (nulls.kind == NullPolicy::Kind::kMask) return instead;
  const auto own = std::ranges::find(nulls.by_column, column.name, [](const auto& each) { return each.first; });
  const bool named = own != nulls.by_column.end();
  const NullPolicy::Value& value = named ? own->second : nulls.value;
  if (const auto* integer = std::get_if<int64_t>(&value); integer && column.is_integer) {
    instead.integer = *integer;
  } else if (const auto* text = std::get_if<std::string>(&value); text && !column.is_integer) {
    instead.text = *text;
  } else if (named) {
    return invalid_argument(fmt::format("null: the partition column '{}' holds {}; give it one", column.name,
                                        column.is_integer ? "integers" : "texts"));
  } else {
    instead.allowed = false;
  }
  return instead;
}

/// Applies requested types to partition columns.
Status take_types(std::vector<PartitionColumn>& columns, const ColumnTypes& types) {
  for (PartitionColumn& column : columns) {
    const ColumnType* wanted = find_type(types, column.name);
    if (wanted == nullptr) continue;
    const bool integers = *wanted == ColumnType{FieldKind::kTensor, DType::kInt64, {}};
    if (wanted->kind == FieldKind::kText) {
      column.is_integer = false;
    } else if (!integers || !column.is_integer) {
      return invalid_argument(
          fmt::format("types: the folders' column '{}' holds {}, and can be read as 'string'{}; it "
                      "cannot be read as {}",
                      column.name, column.is_integer ? "integers" : "texts", column.is_integer ? " or 'int64'" : "",
                      column_type_word(*wanted)));
    }
  }
  return {};
}

/// The columns of a filter that are read from files.
std::vector<std::string> file_columns(const RowFilter& filter, std::span<const PartitionColumn> partitions) {
  std::vector<std::string> names = filter_columns(filter);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::find(partitions, name, &PartitionColumn::name) != partitions.end();
  });
  return names;
}

bool keeps_any(const TableData& data, size_t part) {
  const int64_t begin = data.part_begins[part];
  const int64_t end = part + 1 < data.parts.size() ? data.part_begins[part + 1] : data.begins.back();
  for (int64_t id = begin; id < end; ++id) {
    if (!data.kept || ((*data.kept)[static_cast<size_t>(id / 64)] >> (id % 64) & 1) != 0) return true;
  }
  return false;
}

/// Reports null folders with selected rows if no fill value is given.
Status check_partition_nulls(const TableData& data) {
  for (const TableColumn& column : data.schema.columns) {
    if (column.from != TableColumn::From::kFolder || data.partition_nulls[column.partition].allowed) continue;
    const PartitionColumn& partition = data.partitions[column.partition];
    for (size_t part = 0; part < data.parts.size(); ++part) {
      if (!partition.is_null(part) || !keeps_any(data, part)) continue;
      return invalid_argument(fmt::format(
          "'{}' lies in a folder that says that '{}' is null; give null= {} or fb.NULL_MASK, or leave the column out "
          "with columns=",
          data.part_name(part), partition.name, partition.is_integer ? "an integer" : "a text"));
    }
  }
  return {};
}

Hash128 version_of(const TableData& data, const TableReading& reading, const Hash128& content) {
  Hasher hasher;
  for (size_t part = 0; part < data.parts.size(); ++part) {
    const TablePart& each = data.parts[part];
    hasher.update(std::string_view(each.key).substr(data.base.size()));
    // No key contains a zero byte, so no key can imitate the boundary of another.
    hasher.update_value(uint8_t{0});
    hasher.update_value(each.size);
    hasher.update_value(data.part_begins[part]);
  }
  hasher.update_value(data.begins.back());
  for (const TableColumn& column : data.schema.columns) hasher.update(column.field.to_string() + "\n");
  hasher.update(null_policy_text(reading.nulls));
  for (const TablePart& part : data.parts) hasher.update(column_types_text(part.types) + "\n");
  // The selected rows are hashed and not the filter's text, so equivalent filters give the same
  // data set.
  if (data.kept) hasher.update(data.kept->data(), data.kept->size() * sizeof(uint64_t));
  hasher.update_value(content.high);
  hasher.update_value(content.low);
  return hasher.digest();
}

/// Builds a table from parts and partitions. `masked` holds the files that a filter reads; it may
/// be empty without one. `model` is TableRequest::model, or null.
Result<std::shared_ptr<TableData>> build(std::shared_ptr<TableData> data, const TableSelection& selection,
                                         const TableModel* model, Files masked, DataWarnings* warnings,
                                         std::stop_token stop) {
  FOREBAY_RETURN_IF_ERROR(read_alike(*data, selection, model, masked));
  FOREBAY_ASSIGN(data->schema, unite(*data, selection, model, warnings));
  FOREBAY_RETURN_IF_ERROR(data->find_chunks());
  for (const PartitionColumn& column : data->partitions) {
    FOREBAY_ASSIGN(PartitionNull instead, partition_null(column, selection.reading.nulls));
    data->partition_nulls.push_back(std::move(instead));
  }
  if (!selection.filter.empty()) {
    FOREBAY_ASSIGN(FilteredRows rows, filter_rows(*data, masked, selection.filter, std::move(stop)));
    data->kept = std::move(rows.kept);
    data->undecided = std::move(rows.undecided);
  }
  FOREBAY_RETURN_IF_ERROR(check_partition_nulls(*data));
  return data;
}

std::string decoded_by(const TableCodecs& codecs, const TableReading& reading) {
  return codecs.version() + "\n" + null_policy_text(reading.nulls);
}

constexpr int64_t kSampledChunks = 8;

/// Hash of a few groups, spread over the table, so that the work is bounded.
Result<Hash128> sample_content(const TableSource& source) {
  Hasher hasher;
  const int64_t chunks = source.chunks(), count = std::min(chunks, kSampledChunks);
  for (int64_t i = 0; i < count; ++i) {
    WorkMemory memory;
    FOREBAY_ASSIGN(const Columns columns, source.decode(count < 2 ? 0 : i * (chunks - 1) / (count - 1), {}, memory));
    for (size_t field = 0; field < columns.values.size(); ++field) {
      const ColumnValues& values = columns.values[field];
      hasher.update(values.offsets.data(), values.offsets.size());
      hasher.update(values.values.data(), values.values.size());
    }
    if (columns.bad_rows) {
      for (const auto& [row, status] : *columns.bad_rows) hasher.update_value(row);
    }
  }
  return hasher.digest();
}

}  // namespace

Result<std::shared_ptr<const ChunkSource>> open_table(StoreAndPath at, const TableRequest& request,
                                                      const TableCodecs& codecs, std::stop_token stop) {
  DataLocation location{request.is_list, request.names, kArrowEndings};
  if (request.format == TableRequest::Format::kParquet) location.endings = kParquetEndings;
  FOREBAY_ASSIGN(DataFiles files, find_data_files(std::move(at), location, stop));
  return open_table_files(std::move(files), request, codecs, std::move(stop));
}

Result<std::shared_ptr<const ChunkSource>> open_table_files(DataFiles files, const TableRequest& request,
                                                            const TableCodecs& codecs, std::stop_token stop) {
  const bool parquet = request.format == TableRequest::Format::kParquet;
  std::vector<std::string> below;
  for (const DataFile& entry : files.files) below.push_back(entry.key.substr(files.base.size()));
  FOREBAY_ASSIGN(std::vector<PartitionColumn> partitions, partition_columns(below));
  FOREBAY_RETURN_IF_ERROR(take_types(partitions, request.selection.reading.types));
  if (request.model && !below.empty())
    FOREBAY_RETURN_IF_ERROR(take_types(partitions, *request.model, files.store->display_name(files.files.front().key)));
  const IndexOptions index{parquet ? &codecs.parquet() : &codecs.arrow_file(), request.selection.reading,
                           file_columns(request.selection.filter, partitions)};
  FOREBAY_ASSIGN(OpenedTables opened, read_indices(files, index, stop));

  auto data = std::make_shared<TableData>();
  data->store = files.store;
  data->base = files.base;
  data->group_word = parquet ? "row group" : "batch";
  data->decoded_by = decoded_by(codecs, request.selection.reading);
  data->partitions = std::move(partitions);
  Files masked;
  data->cache = opened.cache;
  for (size_t i = 0; i < opened.files.size(); ++i) {
    DataFile& entry = files.files[i];
    masked.push_back(std::move(opened.files[i].masked));
    data->parts.push_back(
        {std::move(entry.key), entry.size.value_or(0), entry.version, std::move(opened.files[i].file), {}, {}});
  }
  FOREBAY_ASSIGN(data, build(std::move(data), request.selection, request.model.get(), std::move(masked), files.warnings,
                             std::move(stop)));
  data->version = version_of(*data, request.selection.reading, {});
  return std::shared_ptr<const ChunkSource>(std::make_shared<TableSource>(std::move(data)));
}

std::shared_ptr<const TableModel> model_of(const ChunkSource& table) {
  const auto* const source = dynamic_cast<const TableSource*>(&table);
  if (source == nullptr || source->data().parts.empty()) return nullptr;
  const TableData& data = source->data();
  return std::make_shared<const TableModel>(TableModel{data.parts.front().file, data.part_name(0), data.partitions});
}

Result<std::shared_ptr<const ChunkSource>> open_memory_tables(Files tables, const TableSelection& selection,
                                                              const TableCodecs& codecs, std::stop_token stop,
                                                              DataWarnings* warnings) {
  if (tables.empty()) return invalid_argument("there is no table in the list");
  if (!selection.filter.empty() && selection.reading.nulls.kind != NullPolicy::Kind::kMask) {
    return unsupported(
        "filter= on a table in memory needs null=fb.NULL_MASK; or filter the table itself before it is given");
  }
  auto data = std::make_shared<TableData>();
  data->group_word = "batch";
  data->decoded_by = decoded_by(codecs, selection.reading);
  for (size_t i = 0; i < tables.size(); ++i) {
    TablePart part;
    part.file = tables[i];
    part.name_in_memory = tables.size() == 1 ? "table in memory" : fmt::format("table {} in memory", i);
    data->parts.push_back(std::move(part));
  }
  FOREBAY_ASSIGN(data, build(std::move(data), selection, nullptr, tables, warnings, std::move(stop)));
  // Tables in memory have no sizes or names that identify them.
  FOREBAY_ASSIGN(const Hash128 content, sample_content(TableSource(data)));
  data->version = version_of(*data, selection.reading, content);
  return std::shared_ptr<const ChunkSource>(std::make_shared<TableSource>(std::move(data)));
}

}  // namespace forebay
