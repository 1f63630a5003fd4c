#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "stream/number_offset.h"
#include "stream/record_log.h"

namespace forebay {

/// A bounded queue of the records of one partition, between a thread of the user's program, which
/// pushes them, and the reader of a PushedLog. The contents of a record stay with the program,
/// under the record's key. Shared by both sides; may be used from any thread.
class PushedRecords {
 public:
  enum class Pushed : uint8_t { kTaken, kFull, kClosed };
  /// Pushes the next record, waiting for space for `patience` at most. `offset` is the text with
  /// which reading after the record begins; `bytes` is the memory that the program holds for it.
  Pushed push(std::string offset, std::string key, uint64_t bytes, std::chrono::milliseconds patience);
  /// Reports that the program has no more records.
  void end();
  /// Reports that the program has failed: reading ends with that error.
  void fail(Status status);
  /// Whether the reader is destroyed. push() then returns kClosed.
  bool closed();
  /// Returns the keys of the records that were released since the last call. The program can free
  /// their contents.
  std::vector<std::string> take_gone();

 private:
  friend class PushedLog;
  struct Gone;  // outlives the queue: records report their release to it

  PushedRecords();
  void close();

  Mutex mutex_;
  StoppableCondVar changed_;
  std::deque<LogRecord> records_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  bool ended_ FOREBAY_GUARDED_BY(mutex_) = false;
  bool closed_ FOREBAY_GUARDED_BY(mutex_) = false;
  Status failure_ FOREBAY_GUARDED_BY(mutex_);
  const std::shared_ptr<Gone> gone_;
};

/// A log of records that a program makes: any iterable with a position. The samples are made by the
/// program's own code, so the schema is empty and load() gives nothing.
class PushedLog final : public RecordLog {
 public:
  /// Called to push the records after an offset (empty: all) of a partition, on a thread of the
  /// program's own, until push() returns kClosed. The call itself does not block.
  using Open = std::function<void(size_t partition, const std::string& after, std::shared_ptr<PushedRecords> feed)>;

  PushedLog(std::string name, std::vector<std::string> partitions, Open open);

  const Schema& schema() const override { return schema_; }
  const std::vector<std::string>& partitions() const override { return partitions_; }
  std::string identity() const override { return "pushed " + name_; }
  std::string name() const override { return name_; }
  bool records_are_whole() const override { return false; }
  Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const override;
  Result<std::vector<std::string>> ends(std::stop_token stop) const override;
  /// Offsets are counts.
  int compare(const std::string& a, const std::string& b) const override { return compare_number_offsets(a, b); }
  Status check_offset(const std::string& offset) const override;
  Status load(const LogRecord&, Buffer, Record&) const override { return {}; }

 private:
  class Reader;
  const std::string name_;
  const std::vector<std::string> partitions_;
  const Open open_;
  Schema schema_;
};

}  // namespace forebay
