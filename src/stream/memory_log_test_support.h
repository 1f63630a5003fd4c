#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "stream/record_log.h"

namespace forebay {

/// A log in memory. "p/17" is the record of offset "17" (counted from 1) of partition p. append()
/// adds records.
class MemoryLog final : public RecordLog {
 public:
  explicit MemoryLog(size_t partitions, uint64_t record_bytes = 8) : record_bytes_(record_bytes) {
    Field field;
    field.name = "value";
    field.kind = FieldKind::kText;
    schema_ = Schema({field});
    for (size_t p = 0; p < partitions; ++p) names_.push_back(std::string(1, static_cast<char>('a' + p)));
    sizes_.resize(partitions);
    begins_.resize(partitions);
    reads_.resize(partitions);
  }

  void append(size_t partition, int64_t records) {
    const std::lock_guard lock(mutex_);
    sizes_[partition] += records;
    ++appends_;
    idle_ = 0;
    changed_.notify_all();
  }
  /// Nothing more will be appended.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  void fail(Status status) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(status);
    changed_.notify_all();
  }
  void trim(size_t partition, int64_t before) {
    const std::lock_guard lock(mutex_);
    begins_[partition] = before;
  }
  /// Count of the records of a partition that all readers have read.
  int64_t reads(size_t partition) const {
    const std::lock_guard lock(mutex_);
    return reads_[partition];
  }

  /// Waits until that many readers wait for further records. By then the records that they read
  /// before have been taken in.
  bool wait_idle(int readers) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return idle_ == readers; });
  }

  const Schema& schema() const override { return schema_; }
  const std::vector<std::string>& partitions() const override { return names_; }
  std::string identity() const override { return "memory"; }
  std::string name() const override { return "memory"; }
  size_t partitions_per_reader() const override { return per_reader; }
  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override {
    if (before_reader) before_reader();
    return std::unique_ptr<LogReader>(std::make_unique<Reader>(*this, std::move(from)));
  }
  Result<std::vector<std::string>> ends(std::stop_token) const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> ends;
    for (const int64_t size : sizes_) ends.push_back(size == 0 ? "" : std::to_string(size));
    return ends;
  }
  int compare(const std::string& a, const std::string& b) const override {
    return std::stoll(a) < std::stoll(b) ? -1 : std::stoll(a) > std::stoll(b);
  }
  Status check_offset(const std::string&) const override { return {}; }
  Status load(const LogRecord& record, Buffer, Record& out) const override {
    Buffer text = Buffer::allocate(record.key.size());
    std::copy(record.key.begin(), record.key.end(), text.data());
    out[0] = Value::of_text(std::move(text));
    return {};
  }

  size_t per_reader = 1;
  /// The reconnects that each reader reports. Set it while there are no readers.
  int64_t reconnects = 0;
  /// Called whenever a reader is made. Set it while no other thread makes one.
  std::function<void()> before_reader;

 private:
  class Reader final : public LogReader {
   public:
    Reader(const MemoryLog& log, std::vector<LogPosition> from) : log_(log), next_(log.names_.size()) {
      for (const LogPosition& position : from)
        next_[position.partition] = position.after.empty() ? 0 : std::stoll(position.after);
    }
    Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                        std::stop_token stop) override {
      std::unique_lock lock(log_.mutex_);
      const auto some = [&] {
        for (const size_t p : wanted)
          if (next_[p] < log_.sizes_[p]) return true;
        if (log_.ended_ || !log_.failure_.ok()) return true;
        if (std::exchange(idle_since_, log_.appends_) != log_.appends_) {
          ++log_.idle_;
          log_.changed_.notify_all();
        }
        return false;
      };
      idle_since_ = -1;
      log_.changed_.wait_for(lock, stop, limits.wait, some);
      if (idle_since_ == log_.appends_) --log_.idle_;
      FOREBAY_RETURN_IF_ERROR(log_.failure_);
      std::vector<LogRecord> records;
      uint64_t bytes = 0;
      for (const size_t p : wanted) {
        if (next_[p] < log_.begins_[p]) {
          gaps_.push_back({p, log_.begins_[p] - next_[p], std::to_string(log_.begins_[p] + 1)});
          next_[p] = log_.begins_[p];
        }
        for (size_t i = 0; i < limits.records && next_[p] < log_.sizes_[p] && bytes < limits.bytes; ++i) {
          const int64_t offset = ++next_[p];
          ++log_.reads_[p];
          LogRecord record{p, std::to_string(offset), log_.names_[p] + "/" + std::to_string(offset)};
          record.payload = Buffer::allocate(log_.record_bytes_);
          bytes += record.bytes();
          records.push_back(std::move(record));
        }
      }
      all_read_ = records.empty() && log_.ended_;
      return records;
    }
    std::vector<LogGap> take_gaps() override { return std::exchange(gaps_, {}); }
    bool ended() const override { return all_read_; }
    int64_t reconnects() const override { return log_.reconnects; }

   private:
    const MemoryLog& log_;
    std::vector<int64_t> next_;
    std::vector<LogGap> gaps_;
    int64_t idle_since_ = -1;  // MemoryLog::appends_
    bool all_read_ = false;
  };

  const uint64_t record_bytes_;
  Schema schema_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::vector<int64_t> sizes_, begins_;
  mutable std::vector<int64_t> reads_;
  int64_t appends_ = 0;
  mutable int idle_ = 0;  // readers that have been waiting since the last append
  bool ended_ = false;
  Status failure_;
};

}  // namespace forebay
