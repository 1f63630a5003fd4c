#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "cli/inspect_report.h"
#include "format/files/open_store.h"
#include "format/webdataset/tar_index.h"

namespace forebay {

/// Returns whether all names end in ".tar".
bool are_shards(std::span<const std::string> urls);

/// The report of `forebay inspect` about tar shards. It needs only their headers.
struct ShardsReport {
  struct ExtensionCounts {
    std::string field_type;  ///< type of the field: "int64", "text", "bytes"; "refused" for pickles
    int64_t files = 0, samples = 0;
    uint64_t bytes = 0;
    Extent file_bytes;
  };

  std::string url;
  int64_t shards = 0, samples = 0;
  uint64_t bytes = 0;  ///< size of the shards
  Extent shard_samples, sample_bytes;
  std::map<std::string, ExtensionCounts> extensions;

  void add(uint64_t shard_bytes, const TarIndex& index);
  SortedJson to_json() const;
  std::string to_text() const;
};

/// Inspects shards. `urls` is one pattern, one file, or several files of one store.
Result<ShardsReport> inspect_shards(const std::vector<std::string>& urls, const StorageOptions& storage,
                                    std::stop_token stop);

}  // namespace forebay
