#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "format/files/find_files.h"
#include "format/webdataset/tar_index.h"

namespace forebay {

/// The indexes of all shards, many at once: those that were kept, the others by reading headers. Fills in sizes and versions of
/// `files`. What is wrong with shards is told of all of them together.
struct ShardIndexOptions {
  std::string kept = {};  ///< a folder for indexes; empty for none
  bool beside = false;    ///< they stand beside the shards, which are local files
  NameSplit split = NameSplit::kFirstDot;
};
Result<std::vector<TarIndex>> read_shard_indexes(DataFiles& files, const ShardIndexOptions& options,
                                                 std::stop_token stop);

}  // namespace forebay
