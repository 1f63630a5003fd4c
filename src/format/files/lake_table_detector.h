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
class LakeTableDetector {
 public:
  /// Records the subfolders of `folder` that mark a table. Call it for each page of a listing,
  /// before hidden folders are removed from it.
  void add_folders(const std::string& folder, std::span<const std::string> subfolders);
  /// Call it once all folders are added. Unsupported, with a way to get the live files, if `files`
  /// belong to such a table. Besides the added folders it looks at the folders above `files.base`
  /// if that is the `data` folder or a partition of a table, and above a file that is named as Hudi
  /// names files. Waits for listings of at most 64 folders of each kind.
  Status check_no_tables(const DataFiles& files, const std::stop_token& stop) const;

 private:
  std::set<std::string> delta_tables_;        ///< folders that contain _delta_log
  std::set<std::string> iceberg_candidates_;  ///< folders that contain metadata, not yet looked into
};

}  // namespace forebay
