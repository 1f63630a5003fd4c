#pragma once

#include <set>
#include <span>
#include <stop_token>
#include <string>

#include "forebay/result.h"

namespace forebay {

struct DataFiles;

/// Recognises folders of Delta, Iceberg and Hudi tables among the folders of a search. The Parquet files of such a table hold
/// deleted and replaced rows beside the live ones; only the table's own log, which is not read here, tells them apart.
class LakeFolders {
 public:
  /// The folders below `folder`, as a page of its listing names them.
  void look_at(const std::string& folder, std::span<const std::string> below);
  /// Unsupported where the Parquet files that were found belong to such a table, with the way out. Looks above the base of the search, too: at
  /// "data" folders, partitions, and names of files as Hudi gives them. Waits for listings where there is something to ask.
  Status refuse(const DataFiles& files, const std::stop_token& stop) const;

 private:
  std::set<std::string> delta_, maybe_iceberg_;  // folders with a "_delta_log", with a "metadata" folder
};

}  // namespace forebay
