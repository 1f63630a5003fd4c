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

/// Where indexes of shards are kept below a folder of caches.
inline std::string kept_indexes_folder(const std::string& caches) { return caches + "/tar_indexes"; }

struct WebdatasetRequest {
  bool is_list = false;
  std::vector<std::string> names = {};  ///< of a list: paths or URLs, all of one store, in which nothing is special
  /// Those to read, in this order. Where there are none: one for each extension, named by it, in byte order.
  std::vector<ShardField> fields = {};
  std::vector<std::string> optional = {};  ///< of fields that are found
  uint64_t chunk_bytes = kShardChunkBytes;
  std::string kept_indexes = {};  ///< a folder; empty: none are kept
  NameSplit split = NameSplit::kFirstDot;
  bool beside = false;  ///< they are kept beside the shards. InvalidArgument where these are no local files
};

/// Opens tar shards as one data set. `at`: a pattern, a folder or a file, or where the first of the list is. Lists them and finds what is in
/// them. Ids number the samples of all shards, in byte order of their keys.
Result<std::shared_ptr<const ChunkSource>> open_webdataset(StoreAndPath at, const WebdatasetRequest& request,
                                                           std::stop_token stop);

/// What is wrong with fields in themselves: InvalidArgument or, for pickles, Unsupported.
Status check_shard_fields(std::span<const ShardField> fields);

}  // namespace forebay
