#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "format/files/find_files.h"
#include "format/webdataset/sample_name.h"
#include "format/webdataset/tar_index.h"
#include "format/webdataset/tar_index_files.h"

namespace forebay {

/// Where shard indices are saved, and how file names are divided.
struct ShardIndexOptions {
  std::string kept = {};  ///< folder for saved indices; empty for none
  bool beside = false;    ///< indices lie next to the shards, which are local files
  NameSplit split = NameSplit::kFirstDot;
};

/// The saved indices of shards.
inline TarIndexFiles saved_indexes(const ShardIndexOptions& options) {
  const auto place = options.beside ? TarIndexFiles::Place::kBesideShards : TarIndexFiles::Place::kCacheFolder;
  return TarIndexFiles(options.kept, place, options.split);
}

/// Returns the indices of all shards. Loads saved indices, and reads the headers of other shards,
/// many at once. Fills in missing sizes and versions in `files`. One error reports the problems
/// of all shards. Waits.
Result<std::vector<TarIndex>> read_shard_indexes(DataFiles& files, const ShardIndexOptions& options,
                                                 std::stop_token stop);

}  // namespace forebay
