#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Disk space for pieces that come and go in any order. Its file has no name, so the system removes
/// it however the process ends. May be used from any thread.
class ReplayDisk {
 public:
  /// The place of a piece.
  struct Slot {
    uint64_t at = 0, size = 0;
  };
  /// Opens space in an existing folder, `most_bytes` at most. Unavailable if nothing can be
  /// written.
  static Result<std::unique_ptr<ReplayDisk>> open(const std::string& folder, uint64_t most_bytes);
  ~ReplayDisk();
  ReplayDisk(const ReplayDisk&) = delete;
  ReplayDisk& operator=(const ReplayDisk&) = delete;

  /// Writes a piece. Nothing if there is no space for it, or the disk fails.
  std::optional<Slot> write(const Buffer& piece);
  /// Reads a piece. After free() of the slot the bytes are arbitrary. Unavailable if the disk
  /// fails.
  Result<Buffer> read(const Slot& slot) const;
  void free(const Slot& slot);
  /// Bytes of pieces and of the holes between them.
  uint64_t used() const;

 private:
  ReplayDisk(int file, std::string folder, uint64_t most_bytes);
  static uint64_t room_for(uint64_t size);
  std::optional<uint64_t> take(uint64_t room);

  const int file_;
  const std::string folder_;
  const uint64_t max_bytes_;
  mutable Mutex mutex_;
  uint64_t end_ FOREBAY_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::vector<uint64_t>> holes_ FOREBAY_GUARDED_BY(mutex_);  // offsets of holes, by size
};

}  // namespace forebay
