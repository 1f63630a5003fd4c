#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// The partition values in a file's path: "date=2026-01-01/part.parquet" gives {"date",
/// "2026-01-01"}. Names and values are URL-decoded. The value `__HIVE_DEFAULT_PARTITION__` is a
/// null.
using PartitionValues = std::vector<std::pair<std::string, std::optional<std::string>>>;
PartitionValues partition_values(std::string_view path_below_base);

/// One column whose values come from folder names: one value per file, in the order of the table's
/// files.
struct PartitionColumn {
  std::string name;
  bool is_integer = false;  ///< all values are 64-bit integers; otherwise they are texts
  std::vector<std::optional<std::string>> texts;
  std::vector<int64_t> integers;  ///< filled if is_integer; 0 for nulls

  bool is_null(size_t file) const { return !texts[file]; }
  bool has_nulls() const;
};

/// The partition columns of all files. `paths` are relative to the base. InvalidArgument if files
/// lie in folders with different partition names.
Result<std::vector<PartitionColumn>> partition_columns(const std::vector<std::string>& paths);

}  // namespace forebay
