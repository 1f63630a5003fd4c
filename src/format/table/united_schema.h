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

/// A column of the table that all files form.
struct TableColumn {
  enum class From : uint8_t {
    kFile,         ///< a field of the files
    kFolder,       ///< a partition column
    kFolderValid,  ///< true where the partition column is not null
  };
  enum class Role : uint8_t { kValues, kMask, kLengths };
  Field field;
  From from = From::kFile;
  size_t partition = 0;  ///< index of the partition column
  Role role = Role::kValues;
  NullFill fill = {};  ///< for values: the value in files that lack the column
};

/// The index in a file of each column of the table. kNowhere means that the file does not hold the
/// column: it is a partition column, or null in the rows of the file. kAllValid stands for the mask
/// of a column that cannot be null in the file.
using ColumnLayout = std::vector<size_t>;
constexpr size_t kNowhere = SIZE_MAX, kAllValid = SIZE_MAX - 1;
constexpr bool in_file(size_t index) { return index < kAllValid; }

/// The columns of a table, and the place of each in every file.
struct UnitedSchema {
  std::vector<TableColumn> columns;
  std::vector<ColumnLayout> layouts;  ///< the distinct layouts
  std::vector<uint32_t> layout_of;    ///< for each file, its index in layouts
  const ColumnLayout& layout_of_part(size_t part) const { return layouts[layout_of[part]]; }
};

/// The files to unite, and how they are read. It refers to data of the caller.
struct UniteInput {
  std::span<const std::shared_ptr<const TableFile>> files;  ///< at least one
  std::span<const std::string> names;                       ///< display names in messages
  std::span<const PartitionColumn> partitions;
  std::optional<std::vector<std::string>> columns;  ///< requested columns; all if absent
  /// Other columns, used by filters, that must have one type in all files.
  std::vector<std::string> filter_columns;
  TableReading reading = {};  ///< how the files were opened
  /// True if the first file's columns are the table's. A column that another file lacks or adds is
  /// then an error.
  bool first_decides = false;
  /// Collects names that could mean a column or a struct; may be null.
  DataWarnings* warnings = nullptr;
};

/// For each file, the types as which its columns are to be read so that all files agree:
/// `reading.types`, and common_type() of columns whose types differ. Covers only columns that are
/// requested or used by filters. Columns that cannot be united are left out.
std::vector<ColumnTypes> common_types(const UniteInput& input);

/// Computes one schema for all files, which were opened with common_types(). The columns are those
/// requested, in that order. By default they are all columns of all files, in the order in which
/// they first appear, followed by the partition columns. Fields may be in any order in a file.
///
/// A requested name means the column of that name; if it could also mean a struct or its member, a
/// warning is added. If there is no such column, it means the members of the struct of that name. A
/// column that a file lacks, or has with Arrow's null type, is null in the rows of that file.
///
/// One InvalidArgument reports all problems (ten by name), with the names of both files: types that
/// cannot be united in columns that are used, files without a common column, unknown names (with
/// the nearest known name), and fill values that do not fit. Takes time proportional to files times
/// columns. Files with the same layout share one ColumnLayout.
Result<UnitedSchema> unite_schemas(const UniteInput& input);

}  // namespace forebay
