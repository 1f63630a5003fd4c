#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/merging.h"
#include "stream/decision.h"
#include "stream/decision_observer.h"
#include "stream/record_log.h"

namespace forebay {

/// The decisions of a stream whose records are not all delivered, their records, and the place
/// where they begin.
///
/// Owned by a Decider and used by one thread at a time. Each decision begins where the one before
/// ends: each record from base().number to end() is in exactly one decision.
class DecidedRecords {
 public:
  using RecordPtr = std::shared_ptr<const LogRecord>;

  /// Forgets everything and continues from `base`, which must name no decision.
  void begin(StreamPlace base);
  /// Sets the offsets after which the run began. Called only while base() is the run's beginning.
  void set_beginning(std::vector<std::string> after);
  const StreamPlace& base() const { return base_; }
  /// The number of the first record that is in no decision.
  int64_t end() const;
  /// Bytes of records in memory.
  uint64_t bytes() const { return bytes_; }

  /// Adds the decision that begins at end(). `records` are those of each partition; `order` gives
  /// the place of each. Both are empty for a decision of missing records.
  void add(Decision decision, std::vector<std::vector<LogRecord>> records, std::span<const MergedRecord> order);
  /// Reports the decisions that begin at record `from` or later to a witness.
  void report(DecisionObserver& observer, int64_t from) const;

  /// Null if the record is delivered, not decided, or missing.
  RecordPtr record(int64_t number) const;
  /// Completes a remote record. A record that is delivered by now is ignored, and so is one of
  /// another place: it was read for a run that is over.
  void fill(int64_t number, LogRecord whole);
  /// Numbers in [from, to) that were decided without records.
  std::vector<int64_t> missing(int64_t from, int64_t to) const;
  /// The offset of the record before that one in its partition. Empty if that one is the first. The
  /// record itself must not be delivered yet; those before it may be.
  std::string offset_before(int64_t number) const;
  /// The place of record `number`, which must be decided and not delivered.
  StreamPlace place(int64_t number) const;
  /// Count of the numbers that were decided without records, including those before begin().
  int64_t missing_records() const { return missing_records_; }
  /// Dropped records of each partition since the stream's beginning.
  std::vector<int64_t> dropped() const;

  /// Removes the records below `number`, which are delivered, and returns them. Destroying a record
  /// may call a program's own code, so the caller destroys them without holding a lock.
  std::vector<std::vector<RecordPtr>> take_delivered(int64_t number);
  /// Removes and returns all records. Their places remain.
  std::vector<std::vector<RecordPtr>> drop_records();

 private:
  struct Decided {
    Decision decision;
    std::vector<RecordPtr> records;    // in order; null: delivered, or missing
    std::vector<std::string> offsets;  // of records that are delivered
    // For each partition in the log's order: indices in `records`.
    std::vector<std::vector<uint32_t>> in_log;
    std::vector<uint32_t> place_in_log;  // of each record: index in its partition's list
    uint64_t bytes = 0;
    int64_t end() const { return decision.first + static_cast<int64_t>(records.size()); }
  };
  // Returns the index of a record's decision and the record's index in it.
  std::optional<std::pair<size_t, size_t>> find(int64_t number) const;

  StreamPlace base_;
  std::deque<Decided> decisions_;
  uint64_t bytes_ = 0;
  int64_t missing_records_ = 0;
};

}  // namespace forebay
