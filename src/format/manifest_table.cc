#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/list_limit.h"
#include "base/suggest.h"
#include "format/csv_reader.h"
#include "format/jsonl_reader.h"
#include "format/manifest.h"
#include "format/text_list_reader.h"

namespace forebay {

namespace {

using Json = nlohmann::json;

/// Builds the columns from CSV rows or JSON objects.
class TableBuilder final : public JsonlSink {
 public:
  explicit TableBuilder(const ManifestLayout& layout) : layout_(layout), path_column_(layout.path_column) {}

  Status csv_row(const std::vector<std::string_view>& fields, uint64_t line) {
    if (columns_.empty() && layout_.header) return csv_header(fields, line);
    if (columns_.empty()) FOREBAY_RETURN_IF_ERROR(name_columns());
    if (fields.size() != columns_.size()) return other_width(fields, line);
    if (fields[path_index_].empty()) return corrupt(fmt::format("line {}: '{}' is empty", line, path_column_));
    if (rows_ == 0 && layout_.header) FOREBAY_RETURN_IF_ERROR(check_header(fields[path_index_]));
    for (size_t i = 0; i < fields.size(); ++i) FOREBAY_RETURN_IF_ERROR(columns_[i].add_cell(fields[i], line));
    ++rows_;
    return {};
  }

  Status value(std::string_view name, bool v, uint64_t line) override { return add(name, v, line); }
  Status value(std::string_view name, int64_t v, uint64_t line) override { return add(name, v, line); }
  Status value(std::string_view name, uint64_t v, uint64_t line) override { return add(name, v, line); }
  Status value(std::string_view name, double v, uint64_t line) override { return add(name, v, line); }
  Status value(std::string_view name, std::string_view text, uint64_t line) override {
    if (name != path_column_) return add(name, text, line);
    if (text.empty()) return corrupt(fmt::format("line {}: '{}' is empty", line, path_column_));
    if (!path_ends_.empty()) return two_forms(line);
    return add(name, text, line);
  }

  Status tree(std::string_view name, std::string_view json, uint64_t line) override {
    if (name != path_column_) return add(name, json, line);
    if (rows_ > 0 && path_ends_.empty()) return two_forms(line);
    FOREBAY_RETURN_IF_ERROR(add(name, json, line));
    return add_paths(json, line);
  }

  Status end_of_object(uint64_t line) override {
    // Later objects must have the members of the first one.
    if (rows_ == 0 && find(path_column_) == nullptr) return no_path_column();
    ++rows_;
    for (const ColumnBuilder& column : columns_) {
      if (column.size() < rows_) {
        return corrupt(
            fmt::format("line {}: no '{}'; every object must have the members of the first", line, column.name()));
      }
    }
    // Makes find() begin with the first member of each object.
    next_ = 0;
    return {};
  }

  Result<ManifestTable> finish() && {
    if (columns_.empty()) return not_found("the manifest is empty; it must list objects, one a line");
    if (rows_ == 0) return not_found("the manifest has a header but no rows");
    FOREBAY_RETURN_IF_ERROR(check_types());
    ManifestTable table;
    if (!path_ends_.empty()) {
      if (paths_.size() == 0)
        return not_found(fmt::format("all lists '{}' are empty; they must list objects", path_column_));
      table.paths = std::move(paths_);
      table.path_ends = std::move(path_ends_);
    }
    for (ColumnBuilder& column : columns_) {
      if (column.name() == path_column_) {
        (table.path_ends.empty() ? table.paths : table.keys) = std::move(column);
        continue;
      }
      FOREBAY_ASSIGN(Column finished, std::move(column).finish());
      table.columns.push_back(std::move(finished));
    }
    return table;
  }

 private:
  // The paths of a list, of which the column has the text.
  Status add_paths(std::string_view json, uint64_t line) {
    const Json list = Json::parse(json);
    const auto is_path = [](const Json& path) {
      return path.is_string() && !path.get_ref<const std::string&>().empty();
    };
    if (!list.is_array() || !std::ranges::all_of(list, is_path))
      return corrupt(
          fmt::format("line {}: '{}' is neither a path nor a list of paths, as in {{\"{}\": [\"a.jpg\", \"b.jpg\"]}}",
                      line, path_column_, path_column_));
    if (list.size() > kMostInList)
      return unsupported(
          fmt::format("line {}: '{}' lists {} objects, and {} are the most of a sample; write several lines of fewer",
                      line, path_column_, list.size(), kMostInList));
    for (const Json& path : list)
      FOREBAY_RETURN_IF_ERROR(paths_.add(std::string_view(path.get_ref<const std::string&>()), line));
    path_ends_.push_back(static_cast<uint64_t>(paths_.size()));
    return {};
  }

  Status two_forms(uint64_t line) const {
    return corrupt(fmt::format("line {}: '{}' is {} here and {} before; write lists in all rows, of one path, too",
                               line, path_column_, path_ends_.empty() ? "a list" : "one path",
                               path_ends_.empty() ? "one path" : "a list"));
  }

  Status csv_header(const std::vector<std::string_view>& fields, uint64_t line) {
    of_lines_ = true;
    for (size_t i = 0; i < fields.size(); ++i) {
      std::string name = fields[i].empty() ? fmt::format("unnamed_{}", i) : std::string(fields[i]);
      FOREBAY_RETURN_IF_ERROR(new_column(std::move(name), line));
      if (columns_.back().name() == path_column_) path_index_ = i;
    }
    return find(path_column_) == nullptr ? no_path_column() : Status();
  }

  Status name_columns() {
    for (size_t i = 0; i < layout_.columns.size(); ++i) {
      FOREBAY_RETURN_IF_ERROR(new_column(layout_.columns[i], 1));
      if (columns_.back().name() == path_column_) path_index_ = i;
    }
    if (find(path_column_) != nullptr) return {};
    return invalid_argument(fmt::format(
        "columns= names no '{}'; name the column of the paths so, or say which one it is with path=", path_column_));
  }

  Status other_width(const std::vector<std::string_view>& fields, uint64_t line) const {
    const std::string found = fmt::format("line {}: {} field{}", line, fields.size(), fields.size() == 1 ? "" : "s");
    if (layout_.header) return corrupt(fmt::format("{}, the header has {}", found, columns_.size()));
    return corrupt(
        fmt::format("{}, columns= names {}; fields are separated by commas in .csv, by tabs in .tsv, and by tabs or "
                    "blanks in .txt and .lst",
                    found, columns_.size()));
  }

  /// Detects a manifest without a header, whose first row would be lost: the path column's name
  /// then looks like its first path.
  Status check_header(std::string_view first_path) const {
    const auto ending = [](std::string_view path) {
      const size_t dot = path.rfind('.');
      return dot == std::string_view::npos ? std::string_view() : path.substr(dot);
    };
    const std::string_view ends = ending(path_column_);
    const bool same_ending = !ends.empty() && ends.find('/') == std::string_view::npos && ends == ending(first_path);
    if (!same_ending && path_column_.find("://") == std::string_view::npos) return {};
    return invalid_argument(fmt::format(
        "the column of the paths is called '{}', which looks like a path itself; if the first line is a row, give "
        "header=False and columns=[\"path\", …]",
        path_column_));
  }

  Status check_types() const {
    std::vector<std::string> names;
    for (const ColumnBuilder& column : columns_) names.push_back(column.name());
    return check_manifest_types(layout_, names);
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
    const ColumnType* const type = find_type(layout_.types, columns_.back().name());
    if (type != nullptr && columns_.back().name() != path_column_) columns_.back().set_type(*type);
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

  /// Members usually come in the order of the previous object.
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
    if (!of_lines_)
      return invalid_argument(
          fmt::format("no column '{}'; there are: {}; say which one holds the paths with path=", path_column_, names));
    return invalid_argument(
        fmt::format("no column '{}'; the first line has: {}; if that is a row and no header, give header=False and "
                    "columns=[\"{}\", …], else say which column holds the paths with path=",
                    path_column_, names, path_column_));
  }

  const ManifestLayout& layout_;
  const std::string path_column_;
  std::vector<ColumnBuilder> columns_;
  std::set<std::string> names_;
  bool of_lines_ = false;  ///< the names come from a line, not from JSON objects
  size_t path_index_ = 0, next_ = 0;
  ColumnBuilder paths_{"path"};      ///< of all rows, if each has a list
  std::vector<uint64_t> path_ends_;  ///< where those of each row end
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
  const size_t dot = name.rfind('.');
  std::string ending(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  for (char& c : ending) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (ending == "csv") return ManifestFormat::kCsv;
  if (ending == "tsv") return ManifestFormat::kTsv;
  if (ending == "jsonl" || ending == "ndjson") return ManifestFormat::kJsonl;
  if (ending == "parquet" || ending == "parq" || ending == "pq") return ManifestFormat::kParquet;
  if (ending == "txt" || ending == "lst" || ending == "list") return ManifestFormat::kTextList;
  if (ending == "json")
    return unsupported("one JSON document is no manifest; write one object a line (`jq -c '.[]'`) and call it .jsonl");
  if (ending == "gz" || ending == "zst" || ending == "bz2" || ending == "xz" || ending == "lz4" || ending == "zip")
    return unsupported("a compressed manifest is not read; unpack it first");
  return invalid_argument("a manifest's name ends in .csv, .tsv, .txt, .lst, .jsonl or .parquet");
}

Status check_manifest_layout(ManifestFormat format, const ManifestLayout& layout) {
  const bool lines = format != ManifestFormat::kJsonl && format != ManifestFormat::kParquet;
  if (!lines && (!layout.header || !layout.columns.empty()))
    return invalid_argument(
        "header=False and columns= are for lists of text (CSV, TSV, txt); this one names its columns itself");
  if (layout.header && !layout.columns.empty())
    return invalid_argument(
        "columns= names the columns of a list without a header; give header=False, or leave it out");
  if (!layout.header && layout.columns.empty())
    return invalid_argument(
        "header=False needs the names of the columns; give columns=[\"path\", …], one name for each field of a line");
  for (const auto& [name, type] : layout.types) {
    if (type.kind == FieldKind::kBytes || type.time)
      return invalid_argument(
          fmt::format("types: '{}' is {}, and columns of a manifest are numbers, bools or text; give \"string\"", name,
                      column_type_word(type)));
  }
  return {};
}

Status check_manifest_types(const ManifestLayout& layout, const std::vector<std::string>& names) {
  for (const auto& [name, type] : layout.types) {
    if (std::ranges::find(names, name) == names.end())
      return invalid_argument(
          fmt::format("types: there is no column '{}'{}; leave it out", name, suggestion_text(name, names)));
    if (name == layout.path_column && type.kind != FieldKind::kText)
      return invalid_argument(fmt::format("types: '{}' holds the paths, which are text; leave it out", name));
  }
  return {};
}

Result<ManifestTable> parse_manifest(ManifestFormat format, const ManifestLayout& layout, const NextPiece& next) {
  FOREBAY_RETURN_IF_ERROR(check_manifest_layout(format, layout));
  TableBuilder builder(layout);
  const auto on_row = [&](const auto& fields, uint64_t line) { return builder.csv_row(fields, line); };
  if (format == ManifestFormat::kJsonl) {
    JsonlReader reader(builder);
    FOREBAY_RETURN_IF_ERROR(read_all(reader, next));
  } else if (format == ManifestFormat::kTextList) {
    const std::optional<size_t> columns = layout.header ? std::nullopt : std::optional<size_t>(layout.columns.size());
    TextListReader reader(columns, on_row);
    FOREBAY_RETURN_IF_ERROR(read_all(reader, next));
  } else {
    CsvReader reader(format == ManifestFormat::kTsv ? '\t' : ',', on_row);
    FOREBAY_RETURN_IF_ERROR(read_all(reader, next));
  }
  return std::move(builder).finish();
}

}  // namespace forebay
