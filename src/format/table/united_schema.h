#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/table_codec.h"
#include "format/table/partitions.h"
#include "format/table/row_filter.h"

namespace forebay {

/// A column of the table that all files are together.
struct TableColumn {
  enum class From : uint8_t {
    kFile,         ///< a field of the files; of a mask that a file lacks (nothing can be null there) all is valid
    kFolder,       ///< a partition column
    kFolderValid,  ///< whether that is no null
  };
  Field field;
  From from = From::kFile;
  size_t partition = 0;  ///< where it is a partition column: which
};

/// For each column of a table, the index of its field in a file; kNowhere where the file does not hold it.
using ColumnLayout = std::vector<size_t>;
constexpr size_t kNowhere = SIZE_MAX;

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
  NullPolicy::Kind nulls = NullPolicy::Kind::kError;
};

/// One schema for all files: the columns asked for, in that order (a struct's name stands for its members), or those of the first file
/// and then the partition columns. Fields stand in files in any order. What differs between files, in columns that somebody looks at, is
/// InvalidArgument with both files' names, all at once (ten by name); so are names that do not exist (with the nearest that does).
/// Time goes with files times columns; files with the same layout share one.
Result<UnitedSchema> unite_schemas(const UniteInput& input);

}  // namespace forebay
