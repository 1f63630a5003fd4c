#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/data_warnings.h"
#include "base/null_fill.h"
#include "base/table_codec.h"
#include "format/table/partitions.h"
#include "format/table/row_filter.h"

namespace forebay {

/// A column of the table that all files are together.
struct TableColumn {
  enum class From : uint8_t {
    kFile,         ///< a field of the files
    kFolder,       ///< a partition column
    kFolderValid,  ///< whether that is no null
  };
  enum class Role : uint8_t { kValues, kMask, kLengths };
  Field field;
  From from = From::kFile;
  size_t partition = 0;  ///< where it is a partition column: which
  Role role = Role::kValues;
  NullFill fill = {};  ///< of values: what stands there in files that lack the column
};

/// For each column of a table, the index of its field in a file; kNowhere where the file does not hold it, which makes it null (or a
/// partition column); kAllValid for the mask of a column that cannot be null in the file.
using ColumnLayout = std::vector<size_t>;
constexpr size_t kNowhere = SIZE_MAX, kAllValid = SIZE_MAX - 1;
constexpr bool in_file(size_t place) { return place < kAllValid; }

struct UnitedSchema {
  std::vector<TableColumn> columns;
  std::vector<ColumnLayout> layouts;  ///< the different ones
  std::vector<uint32_t> layout_of;    ///< of each file
};

struct UniteInput {
  std::span<const std::shared_ptr<const TableFile>> files;  ///< at least one
  std::span<const std::string> names;                       ///< what messages call them
  std::span<const PartitionColumn> partitions;
  std::optional<std::vector<std::string>> columns;  ///< what was asked for; nothing: all
  std::vector<std::string> looked_at;  ///< further columns that all files need with one type: those of filters
  TableReading reading = {};           ///< with which the files were opened
  /// The first file's columns are the table's: what other files lack, or have besides, is an error.
  bool first_decides = false;
  DataWarnings* warnings = nullptr;  ///< is told of names that could be a column's and a struct's; may be null
};

/// The types that each file's columns are read as so that all files have one: `reading.types`, and those that differ, widened by
/// common_type(). Columns that cannot be united are left as they are. Of columns that somebody looks at.
std::vector<ColumnTypes> common_types(const UniteInput& input);

/// One schema for all files, which were opened with common_types(): the columns asked for, in that order, or all columns of all
/// files in the order of the first that has them, and then the partition columns. Fields stand in files in any order. A name is that
/// of a column (a name that could be a struct's or its member's as well is told as a warning); where there is none, it stands for the members of the struct of that name. A column that a file lacks, or of which the
/// file says only that it is null (Arrow's null type), is null in the rows of that file.
/// InvalidArgument, all at once (ten by name) and with both files' names, for types that cannot be united, in columns that somebody
/// looks at; and for files that have no column in common, names that do not exist (with the nearest that does) and values for nulls
/// that do not fit. Time goes with files times columns; files with the same layout share one.
Result<UnitedSchema> unite_schemas(const UniteInput& input);

}  // namespace forebay
