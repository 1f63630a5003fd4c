#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/files/mapped_file.h"

namespace forebay {

/// Mapped shards of a local folder whose bytes are in the kernel's page cache. Copying a sample's
/// range from the mapping needs no system call, which for ranges of some kilobytes takes most of
/// the time of a read (docs/decisions/0034-mapped-samples.md). Any number of threads may use it.
class MappedShards {
 public:
  struct Shard {
    std::string path;
    uint64_t bytes;
  };
  /// More mappings would use too many of the process's file descriptors.
  static constexpr size_t kMaxShards = 256;
  /// Fraction of pages that must be in the page cache. A thread that touches another page waits for
  /// the device, and requests only that one page meanwhile.
  static constexpr double kAtHand = 0.95;

  /// Returns null if reads are preferable: there are too many shards, or one has an unexpected size
  /// or is not in the page cache.
  static std::unique_ptr<const MappedShards> of(std::span<const Shard> shards);

  /// Copies bytes of a shard from offset `begin` to `out`. Unavailable, naming the file, if the
  /// file was truncated.
  Status copy(size_t shard, uint64_t begin, std::span<uint8_t> out) const;

 private:
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

}  // namespace forebay
