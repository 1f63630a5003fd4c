#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Space on a disk for pieces that come and go in any order. Its file has no name, so that nothing
/// is left when the process ends, in whatever way. May be used from any thread.
class ReplayDisk {
 public:
  /// The place of a piece.
  struct Slot {
    uint64_t at = 0, size = 0;
  };
  /// Opens space in an existing folder, `most_bytes` at most. Unavailable where nothing can be
  /// written.
  static Result<std::unique_ptr<ReplayDisk>> open(const std::string& folder, uint64_t most_bytes);
  ~ReplayDisk();
  ReplayDisk(const ReplayDisk&) = delete;
  ReplayDisk& operator=(const ReplayDisk&) = delete;

  /// Nothing where there is no room for the piece, or the disk does not take it.
  std::optional<Slot> write(const Buffer& piece);
  /// The piece that was written there; after free() any bytes. Unavailable where the disk does not
  /// give it.
  Result<Buffer> read(const Slot& slot) const;
  void free(const Slot& slot);
  /// Bytes of pieces that are there, and of holes that later ones fill.
  uint64_t used() const;

 private:
  ReplayDisk(int file, std::string folder, uint64_t most_bytes);
  static uint64_t room_for(uint64_t size);
  std::optional<uint64_t> take(uint64_t room);

  const int file_;
  const std::string folder_;
  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  uint64_t end_ = 0;
  std::map<uint64_t, std::vector<uint64_t>> holes_;  // by their size
};

}  // namespace forebay
