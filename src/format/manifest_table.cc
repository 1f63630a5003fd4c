#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "format/csv_reader.h"
#include "format/jsonl_reader.h"
#include "format/manifest.h"

namespace forebay {

namespace {

/// The columns while they are read, from CSV rows or JSON objects.
class TableBuilder final : public JsonlSink {
 public:
  explicit TableBuilder(std::string path_column) : path_column_(std::move(path_column)) {}

  Status csv_row(const std::vector<std::string_view>& fields, uint64_t line) {
    if (columns_.empty()) return csv_header(fields, line);
    if (fields.size() != columns_.size()) {
      return corrupt(fmt::format("line {}: {} fields, the header has {}", line, fields.size(), columns_.size()));
    }
    if (fields[path_index_].empty()) return corrupt(fmt::format("line {}: '{}' is empty", line, path_column_));
    for (size_t i = 0; i < fields.size(); ++i) columns_[i].add_cell(fields[i], line);
    ++rows_;
    return {};
  }

  Status value(std::string_view name, bool v, uint64_t line) override { return add(name, v, line); }
  Status value(std::string_view name, int64_t v, uint64_t line) override { return add(name, v, line); }
  Status value(std::string_view name, uint64_t v, uint64_t line) override { return add(name, v, line); }
  Status value(std::string_view name, double v, uint64_t line) override { return add(name, v, line); }
  Status value(std::string_view name, std::string_view text, uint64_t line) override {
    if (name == path_column_ && text.empty()) return corrupt(fmt::format("line {}: '{}' is empty", line, path_column_));
    return add(name, text, line);
  }

  Status end_of_object(uint64_t line) override {
    // Later objects have the first one's members, or are refused.
    if (rows_ == 0 && find(path_column_) == nullptr) return no_path_column();
    ++rows_;
    for (const ColumnBuilder& column : columns_) {
      if (column.size() < rows_) {
        return corrupt(
            fmt::format("line {}: no '{}'; every object must have the members of the first", line, column.name()));
      }
    }
    // So that find() begins with the first member of each object.
    next_ = 0;
    return {};
  }

  Result<ManifestTable> finish() && {
    if (columns_.empty()) return not_found("the manifest is empty; it must list objects, one a line");
    if (rows_ == 0) return not_found("the manifest has a header but no rows");
    ManifestTable table;
    for (ColumnBuilder& column : columns_) {
      if (column.name() == path_column_) {
        table.paths = std::move(column);
        continue;
      }
      FOREBAY_ASSIGN(Column finished, std::move(column).finish());
      table.columns.push_back(std::move(finished));
    }
    return table;
  }

 private:
  Status csv_header(const std::vector<std::string_view>& fields, uint64_t line) {
    for (size_t i = 0; i < fields.size(); ++i) {
      std::string name = fields[i].empty() ? fmt::format("unnamed_{}", i) : std::string(fields[i]);
      FOREBAY_RETURN_IF_ERROR(new_column(std::move(name), line));
      if (columns_.back().name() == path_column_) path_index_ = i;
    }
    return find(path_column_) == nullptr ? no_path_column() : Status();
  }

  Status new_column(std::string name, uint64_t line) {
    if (columns_.size() >= CsvReader::kMaxFields)
      return corrupt(fmt::format("line {}: more than {} columns", line, CsvReader::kMaxFields));
    if (name != path_column_ && (name == "bytes" || name == "key")) {
      return invalid_argument(
          fmt::format("a column is called '{}', which is the name of a field of its own; rename it", name));
    }
    if (!names_.insert(name).second) return corrupt(fmt::format("line {}: two columns are called '{}'", line, name));
    columns_.emplace_back(std::move(name));
    return {};
  }

  template <typename T>
  Status add(std::string_view name, T value, uint64_t line) {
    if constexpr (!std::is_same_v<T, std::string_view>) {
      if (name == path_column_) return corrupt(fmt::format("line {}: '{}' is not text", line, path_column_));
    }
    ColumnBuilder* column = find(name);
    if (column == nullptr && rows_ > 0) {
      return corrupt(fmt::format("line {}: '{}' is not in the objects before", line, name));
    }
    if (column == nullptr) {
      FOREBAY_RETURN_IF_ERROR(new_column(std::string(name), line));
      column = &columns_.back();
    }
    if (column->size() > rows_) return corrupt(fmt::format("line {}: '{}' twice in one object", line, name));
    return column->add(value, line);
  }

  /// Members mostly come in the order of the object before.
  ColumnBuilder* find(std::string_view name) {
    for (size_t tried = 0; tried < columns_.size(); ++tried) {
      ColumnBuilder& column = columns_[next_++ % columns_.size()];
      if (column.name() == name) return &column;
    }
    return nullptr;
  }

  Status no_path_column() const {
    std::string names;
    for (const ColumnBuilder& column : columns_) {
      if (names.size() > 200) {
        names += ", ...";
        break;
      }
      names += (names.empty() ? "" : ", ") + column.name();
    }
    return invalid_argument(
        fmt::format("no column '{}'; there are: {}; say which one holds the paths with path=", path_column_, names));
  }

  const std::string path_column_;
  std::vector<ColumnBuilder> columns_;
  std::set<std::string> names_;
  size_t path_index_ = 0, next_ = 0;
  int64_t rows_ = 0;
};

template <typename Reader>
Status read_all(Reader& reader, const NextPiece& next) {
  while (true) {
    FOREBAY_ASSIGN(const std::string piece, next());
    if (piece.empty()) return reader.finish();
    FOREBAY_RETURN_IF_ERROR(reader.feed(piece));
  }
}

}  // namespace

Result<ManifestFormat> manifest_format(std::string_view name) {
  std::string ending(name.substr(std::min(name.size(), name.rfind('.') + 1)));
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (ending == "csv") return ManifestFormat::kCsv;
  if (ending == "tsv") return ManifestFormat::kTsv;
  if (ending == "jsonl" || ending == "ndjson") return ManifestFormat::kJsonl;
  if (ending == "parquet" || ending == "parq" || ending == "pq") return ManifestFormat::kParquet;
  if (ending == "json")
    return unsupported("one JSON document is no manifest; write one object a line and call it .jsonl");
  return invalid_argument("a manifest's name ends in .csv, .tsv, .jsonl or .parquet");
}

Result<ManifestTable> parse_manifest(ManifestFormat format, const std::string& path_column, const NextPiece& next) {
  TableBuilder builder(path_column);
  if (format == ManifestFormat::kJsonl) {
    JsonlReader reader(builder);
    FOREBAY_RETURN_IF_ERROR(read_all(reader, next));
  } else {
    CsvReader reader(format == ManifestFormat::kTsv ? '\t' : ',',
                     [&](const auto& fields, uint64_t line) { return builder.csv_row(fields, line); });
    FOREBAY_RETURN_IF_ERROR(read_all(reader, next));
  }
  return std::move(builder).finish();
}

}  // namespace forebay
