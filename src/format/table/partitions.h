#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// What the folders of a file say: "date=2026-01-01/part.parquet" → {"date", "2026-01-01"}. Names and values are URL-decoded; the
/// value of `__HIVE_DEFAULT_PARTITION__` is a null.
using PartitionValues = std::vector<std::pair<std::string, std::optional<std::string>>>;
PartitionValues partition_values(std::string_view path_below_base);

/// One column that comes from folders: a value for each file.
/// Values are by file, in the order of the table's files.
struct PartitionColumn {
  std::string name;
  bool is_integer = false;  ///< all values are integers of 64 bits; else they are texts
  std::vector<std::optional<std::string>> texts;
  std::vector<int64_t> integers;  ///< where is_integer; 0 for nulls

  bool is_null(size_t file) const { return !texts[file]; }
  bool has_nulls() const;
};

/// The columns, from the paths of all files below their base. InvalidArgument where files lie in different kinds of folders.
Result<std::vector<PartitionColumn>> partition_columns(const std::vector<std::string>& paths);

}  // namespace forebay
