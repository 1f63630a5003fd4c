#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "format/webdataset/tar_index.h"

namespace forebay {

/// Indexes of shards in files of a folder, so that a later opening need not read the shards' headers again: readable by their owner only,
/// written aside and renamed, checked by a hash, kMostFiles of them (the longest unused go). An index is known by the shard's name,
/// size and version, so that of a shard that has changed is not found. What cannot be read or written is as if it were not there.
/// Or beside the shards, for all hosts that read them: `a.tar.tarindex`, readable by all; what is damaged or of another state of its shard is told, and made anew.
class KeptIndexes {
 public:
  static constexpr std::string_view kBeside = ".tarindex";  ///< ends the names of those beside shards
  static constexpr uint64_t kMostFileBytes = uint64_t{256} << 20;
  static constexpr size_t kMostFiles = 16'384;

  /// Nothing is kept where `folder` is empty.
  explicit KeptIndexes(std::string folder, bool beside = false, NameSplit split = NameSplit::kFirstDot)
      : folder_(std::move(folder)), beside_(beside), split_(split) {}
  struct Shard {
    std::string name;  ///< as messages have it
    uint64_t size = 0;
    uint64_t version = 0;  ///< 0: not known, so that nothing is kept
  };
  std::optional<TarIndex> load(const Shard& shard) const;
  void save(const Shard& shard, const TarIndex& index) const;
  /// Where there are too many, but for those beside shards.
  void remove_oldest() const;
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
  bool keeps(const Shard& shard) const { return shard.version != 0 && (beside_ || !folder_.empty()); }

  const std::string folder_;
  const bool beside_;
  const NameSplit split_;
  mutable Trouble damaged_, stale_, unwritten_;
};

}  // namespace forebay
