#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/files/mapped_file.h"

namespace forebay {

/// Shards of a folder of this host whose bytes are in the kernel's cache, mapped: copying a sample's range from there needs no call of
/// the kernel, which for ranges of some kilobytes takes most of the time that reading them takes
/// (docs/decisions/0034-mapped-samples.md). Any number of threads may use it.
class MappedShards {
 public:
  struct Shard {
    std::string path;
    uint64_t bytes;
  };
  /// More than that would take too many of the descriptors that a process may have.
  static constexpr size_t kMostShards = 256;
  /// Of the pages, so many must be in the kernel's cache: a thread that touches one that is not waits for the device, and none but
  /// itself is asked for meanwhile.
  static constexpr double kAtHand = 0.95;

  /// Null where they are better read: too many of them, or one that is not as long as it should be, or not in the cache.
  static std::unique_ptr<const MappedShards> of(std::span<const Shard> shards);

  /// Fills `out` from byte `begin` of a shard, which has them. Unavailable, naming the file, where that became shorter.
  Status copy(size_t shard, uint64_t begin, std::span<uint8_t> out) const;

 private:
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

}  // namespace forebay
