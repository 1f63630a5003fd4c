#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "forebay/result.h"
#include "stream/record_log.h"

namespace forebay {

/// Room on a disk for records that wait, shared by the partitions of a stream. Nothing that is written there has a name, so that whatever
/// becomes of the process, nothing is left.
class SpillSpace {
 public:
  /// In a folder that is there; `bytes` at most. Unavailable where nothing can be written.
  static Result<std::shared_ptr<SpillSpace>> open(std::string folder, uint64_t bytes);
  uint64_t used() const { return used_; }
  /// For as much as one read brings, so that the budget holds.
  bool has_room() const { return used_ + std::min(bytes_ / 4, kOneRead) < bytes_; }

 private:
  static constexpr uint64_t kOneRead = uint64_t{1} << 20;
  friend class SpillFile;
  std::string folder_;
  uint64_t bytes_ = 0;
  std::atomic<uint64_t> used_ = 0;  // for counters, which do not wait for a stream
};

/// Records on disk, first in, first out. For one thread at a time.
class SpillFile {
 public:
  SpillFile(std::shared_ptr<SpillSpace> space, size_t partition) : space_(std::move(space)), partition_(partition) {}
  ~SpillFile();
  SpillFile(SpillFile&&) = default;

  size_t size() const { return records_; }
  /// Unavailable where the disk does not take it; then it is not there.
  Status push(const LogRecord& record);
  /// Corrupt where the disk gives back something else.
  Result<LogRecord> pop();

 private:
  struct Segment {
    int file = -1;
    off_t written = 0, read = 0;
  };
  Status begin_segment();
  Status load();

  std::shared_ptr<SpillSpace> space_;
  size_t partition_;
  std::deque<Segment> segments_;
  size_t records_ = 0;
  Buffer block_;         // of the first segment, what was read of it
  size_t block_at_ = 0;  // how much of that is behind
};

/// The records of one partition that wait: in memory, and behind these on disk where there is one and memory lacks. For one thread at a time.
class RecordQueue {
 public:
  RecordQueue(std::shared_ptr<SpillSpace> space, size_t partition);

  bool empty() const { return size() == 0; }
  size_t size() const { return memory_.size() + (spilled_ ? spilled_->size() : 0); }
  /// In memory.
  uint64_t bytes() const { return bytes_; }
  /// `spill`: to disk, if there is one; behind what is there it goes in any case.
  Status push(LogRecord record, uint64_t number, bool spill);
  Result<LogRecord> pop();
  /// Of the first one in memory. Not where records are on disk.
  uint64_t first_number() const { return memory_.front().second; }

 private:
  std::deque<std::pair<LogRecord, uint64_t>> memory_;
  std::unique_ptr<SpillFile> spilled_;
  uint64_t bytes_ = 0;
};

}  // namespace forebay
