#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "format/files/index_files.h"
#include "format/webdataset/tar_index.h"

namespace forebay {

/// Saves the indexes of shards as index files (index_files.h), so that a later opening need not read the shards' headers again: in a
/// cache folder, or beside the shards for all hosts that read them (`a.tar.tarindex`, readable by all; a warning tells of damaged and
/// stale ones, which are made anew). A shard is identified by its name, size and version; without a version nothing is saved.
class KeptIndexes {
 public:
  static constexpr std::string_view kBeside = ".tarindex";  ///< ends the names of those beside shards
  static constexpr uint64_t kMostFileBytes = uint64_t{256} << 20;
  static constexpr size_t kMostFiles = 16'384;

  /// Nothing is kept where `folder` is empty.
  explicit KeptIndexes(std::string folder, bool beside = false, NameSplit split = NameSplit::kFirstDot);
  struct Shard {
    std::string name;  ///< as messages have it
    uint64_t size = 0;
    uint64_t version = 0;  ///< 0: not known, so that nothing is kept
  };
  std::optional<TarIndex> load(const Shard& shard) const;
  void save(const Shard& shard, const TarIndex& index) const;
  /// Where there are too many, but for those beside shards.
  void remove_oldest() const { files_.remove_oldest(); }
  /// One warning of all indexes beside shards that could not be used, and of those that could not be written.
  void tell() const;
  std::string path(const Shard& shard) const;

 private:
  /// What went wrong, how often, and where first.
  struct Trouble {
    std::atomic<int> count = 0;
    std::mutex mutex;
    std::string first;
    void add(const std::string& path);
  };

  const IndexFiles files_;  ///< those in the folder; not used where they lie beside the shards
  const bool beside_;
  const NameSplit split_;
  mutable Trouble damaged_, stale_, unwritten_;
};

}  // namespace forebay
