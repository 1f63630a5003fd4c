#pragma once

#include <set>
#include <span>
#include <stop_token>
#include <string>

#include "forebay/result.h"

namespace forebay {

struct DataFiles;

/// Detects folders of Delta, Iceberg and Hudi tables among the folders of a search. The Parquet
/// files of such a table hold both live and deleted or replaced rows. Only the table's own log,
/// which is not read here, tells them apart.
class LakeFolders {
 public:
  /// Takes the folders below `folder`, as a page of its listing names them.
  void add_folders(const std::string& folder, std::span<const std::string> below);
  /// Unsupported, with a remedy, if the files found belong to such a table. Also looks above the
  /// base of the search: at "data" folders, partitions, and file names in Hudi's form. May wait for
  /// listings.
  Status refuse(const DataFiles& files, const std::stop_token& stop) const;

 private:
  // Folders with a "_delta_log", and with a "metadata" folder.
  std::set<std::string> delta_, maybe_iceberg_;
};

}  // namespace forebay
