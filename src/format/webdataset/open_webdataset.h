#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "format/files/find_files.h"
#include "format/webdataset/shard_chunks.h"

namespace forebay {

inline constexpr uint64_t kShardChunkBytes = uint64_t{8} << 20;

/// The folder of shard indices below a folder of caches.
inline std::string kept_indexes_folder(const std::string& caches) { return caches + "/tar_indexes"; }

/// The shards to open and the fields to read from them.
struct WebdatasetRequest {
  bool is_list = false;
  /// For a list: paths or URLs, all in one store; no character is special.
  std::vector<std::string> names = {};
  /// Fields to read, in this order. If empty, there is one field for each extension, named like it,
  /// in byte order.
  std::vector<ShardField> fields = {};
  std::vector<std::string> optional = {};  ///< names of inferred fields that a sample may lack
  uint64_t chunk_bytes = kShardChunkBytes;
  std::string kept_indexes = {};  ///< folder for shard indices; empty to save none
  NameSplit split = NameSplit::kFirstDot;
  /// Saves indices next to the shards; InvalidArgument unless these are local files.
  bool beside = false;
};

/// Opens tar shards as one data set. `at` is a pattern, a folder, a file, or the place of a list's
/// first file. Lists the shards and reads their indices. Ids number the samples of all shards, in
/// byte order of their keys. Waits.
Result<std::shared_ptr<const ChunkSource>> open_webdataset(StoreAndPath at, const WebdatasetRequest& request,
                                                           std::stop_token stop);

/// Checks fields without looking at shards: InvalidArgument for a malformed field, Unsupported for
/// pickles.
Status check_shard_fields(std::span<const ShardField> fields);

}  // namespace forebay
