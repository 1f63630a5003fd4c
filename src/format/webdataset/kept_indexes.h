#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/webdataset/tar_index.h"

namespace forebay {

/// Indexes of shards in files of a folder, so that a later opening need not read the shards' headers again: readable by their owner only,
/// written aside and renamed, checked by a hash, kMostFiles of them (the longest unused go). An index is known by the shard's name,
/// size and version, so that of a shard that has changed is not found. What cannot be read or written is as if it were not there.
class KeptIndexes {
 public:
  static constexpr uint64_t kMostFileBytes = uint64_t{256} << 20;
  static constexpr size_t kMostFiles = 16'384;

  /// Nothing is kept where `folder` is empty.
  explicit KeptIndexes(std::string folder) : folder_(std::move(folder)) {}
  struct Shard {
    std::string name;  ///< as messages have it
    uint64_t size = 0;
    uint64_t version = 0;  ///< 0: not known, so that nothing is kept
  };
  std::optional<TarIndex> load(const Shard& shard) const;
  void save(const Shard& shard, const TarIndex& index) const;
  /// Where there are too many.
  void remove_oldest() const;
  std::string path(const Shard& shard) const;

 private:
  const std::string folder_;
};

}  // namespace forebay
