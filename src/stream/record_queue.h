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

namespace forebay {

/// WindowReclaimer on a disk for records that wait, shared by the partitions of a stream. Nothing that is written there has a name, so that whatever
/// becomes of the process, nothing is left.
class SpillSpace {
 public:
  /// As write_all().
  using Write = std::function<bool(int file, const void* bytes, size_t size, uint64_t at)>;

  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// In a folder that is there; `bytes` at most. Unavailable where nothing can be written.
  static Result<std::shared_ptr<SpillSpace>> open(std::string folder, uint64_t bytes, Write write = write_all,
                                                  Clock clock = std::chrono::steady_clock::now);
  uint64_t used() const { return used_; }
  /// Whether a disk that was full is worth another try: some times a second.
  bool may_try() const { return clock_() >= tries_at_; }
  /// For as much as one read brings, so that the budget holds.
  bool has_room() const { return used_ + std::min(bytes_ / 4, kOneRead) < bytes_; }

 private:
  static constexpr uint64_t kOneRead = uint64_t{1} << 20;
  static constexpr std::chrono::milliseconds kBetweenTries{250};
  friend class SpillFile;
  void found_full();

  std::string folder_;
  uint64_t bytes_ = 0;
  Write write_;
  Clock clock_;
  bool told_full_ = false;
  std::chrono::steady_clock::time_point tries_at_;
  std::atomic<uint64_t> used_ = 0;  // for counters, which do not wait for a stream
};

/// Records on disk, first in, first out. For one thread at a time.
class SpillFile {
 public:
  SpillFile(std::shared_ptr<SpillSpace> space, size_t partition) : space_(std::move(space)), partition_(partition) {}
  ~SpillFile();
  SpillFile(SpillFile&&) = default;

  size_t size() const { return records_; }
  /// False where the disk is full, Unavailable where it takes nothing for another reason; then it is not there.
  Result<bool> push(const LogRecord& record);
  /// Corrupt where the disk gives back something else.
  Result<LogRecord> pop();

 private:
  struct Segment {
    int file = -1;
    uint64_t written = 0, read = 0;
  };
  Result<bool> not_taken();
  Result<bool> begin_segment();
  Status load();

  std::shared_ptr<SpillSpace> space_;
  size_t partition_;
  std::deque<Segment> segments_;
  size_t records_ = 0;
  Buffer block_;         // of the first segment, what was read of it
  size_t block_at_ = 0;  // how much of that is behind
};

/// The records of one partition that wait: in memory, and behind these on disk where there is one and memory lacks. Those that come when the disk is full are late:
/// they wait in memory, behind all. For one thread at a time.
class RecordQueue {
 public:
  RecordQueue(std::shared_ptr<SpillSpace> space, size_t partition);

  bool empty() const { return size() == 0; }
  size_t size() const { return memory_.size() + spilled() + late_.size(); }
  /// How many the disk had no room for.
  size_t late() const { return late_.size(); }
  /// In memory.
  uint64_t bytes() const { return bytes_; }
  /// `spill`: to disk, if there is one; behind what is there it goes in any case.
  Status push(LogRecord record, uint64_t number, bool spill);
  Result<LogRecord> pop();
  /// Gives the disk what is late, as far as it takes it.
  Status spill_late();
  /// Of the first one in memory. Not where records are on disk.
  uint64_t first_number() const { return memory_.front().second; }

 private:
  size_t spilled() const { return spilled_ ? spilled_->size() : 0; }

  std::deque<std::pair<LogRecord, uint64_t>> memory_;
  std::unique_ptr<SpillFile> spilled_;
  std::deque<LogRecord> late_;
  uint64_t bytes_ = 0;
};

}  // namespace forebay
