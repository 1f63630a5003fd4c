#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/read_all.h"
#include "forebay/result.h"
#include "stream/record_log.h"
#include "stream/stream_clock.h"

namespace forebay {

/// Disk space for waiting records, shared by the partitions of a stream. Its files have no names,
/// so the system removes them however the process ends.
class SpillSpace {
 public:
  /// See write_all().
  using Write = std::function<bool(int file, const void* bytes, size_t size, uint64_t at)>;

  /// Opens space in an existing folder, `bytes` at most. Unavailable if nothing can be written.
  static Result<std::shared_ptr<SpillSpace>> open(std::string folder, uint64_t bytes, Write write = write_all,
                                                  const StreamClock& clock = StreamClock::real());
  uint64_t used() const { return used_; }
  /// Whether a disk that was full should be tried again now: some times a second.
  bool may_try() const { return clock_->now() >= tries_at_; }
  /// Whether there is space for the records of one more read.
  bool has_room() const { return used_ + std::min(bytes_ / 4, kOneRead) < bytes_; }

 private:
  static constexpr uint64_t kOneRead = uint64_t{1} << 20;
  static constexpr std::chrono::milliseconds kBetweenTries{250};
  friend class SpillFile;
  void found_full();

  std::string folder_;
  uint64_t bytes_ = 0;
  Write write_;
  const StreamClock* clock_ = nullptr;
  bool warned_full_ = false;
  StreamClock::Time tries_at_;
  std::atomic<uint64_t> used_ = 0;  // atomic for counters, which do not wait for the stream's lock
};

/// Records on disk, first in, first out. Used by one thread at a time.
class SpillFile {
 public:
  SpillFile(std::shared_ptr<SpillSpace> space, size_t partition) : space_(std::move(space)), partition_(partition) {}
  ~SpillFile();
  SpillFile(SpillFile&&) = default;

  size_t size() const { return records_; }
  enum class Pushed : uint8_t { kYes, kDiskFull };
  /// Appends a record, unless the disk is full. Unavailable if the disk fails otherwise.
  Result<Pushed> push(const LogRecord& record);
  /// Corrupt if the disk returns other bytes than were written.
  Result<LogRecord> pop();

 private:
  struct Segment {
    int file = -1;
    uint64_t written = 0, read = 0;
  };
  Result<Pushed> failed_write(int error);
  Result<Pushed> begin_segment();
  Status load();

  std::shared_ptr<SpillSpace> space_;
  size_t partition_;
  std::deque<Segment> segments_;
  size_t records_ = 0;
  Buffer block_;         // the part of the first segment that was read from disk last
  size_t block_at_ = 0;  // bytes of the block that were already returned
};

/// The waiting records of one partition, first in, first out: the oldest in memory, then those on
/// disk, then unspilled ones, which arrived when the disk was full and wait in memory. Used by
/// one thread at a time.
class RecordQueue {
 public:
  RecordQueue(std::shared_ptr<SpillSpace> space, size_t partition);

  bool empty() const { return size() == 0; }
  size_t size() const { return memory_.size() + spilled() + unspilled_.size(); }
  /// The number of unspilled records.
  size_t unspilled() const { return unspilled_.size(); }
  /// Bytes in memory.
  uint64_t bytes() const { return bytes_; }
  /// Appends a record. `spill`: puts it on disk, if there is one. Without `spill` it goes to
  /// memory, unless earlier records are on disk or unspilled.
  Status push(LogRecord record, uint64_t number, bool spill);
  Result<LogRecord> pop();
  /// Moves unspilled records to the disk, as far as it has space.
  Status spill_remaining();
  /// The number of the first record. Only for a queue without a disk, and not empty.
  uint64_t first_number() const { return memory_.front().second; }

 private:
  size_t spilled() const { return spilled_ ? spilled_->size() : 0; }

  std::deque<std::pair<LogRecord, uint64_t>> memory_;
  std::unique_ptr<SpillFile> spilled_;
  std::deque<LogRecord> unspilled_;
  uint64_t bytes_ = 0;
};

}  // namespace forebay
