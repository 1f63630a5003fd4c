#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "format/files/index_files.h"
#include "format/webdataset/sample_name.h"
#include "format/webdataset/tar_index.h"

namespace forebay {

/// Saves the indices of shards as index files (index_files.h), so that a later opening need not
/// read the shards' headers again. They are stored in a cache folder, or next to the shards for all
/// hosts that read them (`a.tar.tarindex`, readable by all). Damaged and stale files next to shards
/// are reported in a warning and replaced. A shard is identified by its name, size and version;
/// nothing is saved for a shard without a version.
class TarIndexFiles {
 public:
  /// Ending of index files that lie next to their shards.
  static constexpr std::string_view kIndexExtension = ".tarindex";
  static constexpr uint64_t kMostFileBytes = uint64_t{256} << 20;
  static constexpr size_t kMostFiles = 16'384;

  /// Where index files lie.
  enum class Place : uint8_t { kCacheFolder, kBesideShards };

  /// `folder` is used for Place::kCacheFolder alone; if it is empty, nothing is saved or found.
  explicit TarIndexFiles(std::string folder, Place place = Place::kCacheFolder, NameSplit split = NameSplit::kFirstDot);
  struct Shard {
    std::string name;  ///< display name in messages
    uint64_t size = 0;
    uint64_t version = 0;  ///< 0 if not known; nothing is then saved
  };
  std::optional<TarIndex> load(const Shard& shard) const;
  void save(const Shard& shard, const TarIndex& index) const;
  /// Removes the least recently used files beyond the limit, except for those next to shards.
  void remove_oldest() const { files_.remove_oldest(); }
  /// Logs one warning about all index files next to shards that could not be used or written.
  void log_problems() const;
  std::string path(const Shard& shard) const;

 private:
  /// A kind of problem: how often it occurred, and where first.
  struct ProblemCount {
    Mutex mutex;
    int count FOREBAY_GUARDED_BY(mutex) = 0;
    std::string first FOREBAY_GUARDED_BY(mutex);
    /// Any thread may call it: shards are opened in parallel.
    void add(const std::string& path);
  };

  bool beside_shards() const { return place_ == Place::kBesideShards; }

  const IndexFiles files_;  ///< the cache folder; not used if index files lie next to the shards
  const Place place_;
  const NameSplit split_;
  mutable ProblemCount damaged_, stale_, unwritten_;
};

}  // namespace forebay
