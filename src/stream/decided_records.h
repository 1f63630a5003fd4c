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

/// The decisions of a stream of which some record is not delivered, with these records. base() is
/// the place where the first of them begins.
///
/// Owned by a Decider and used by one thread at a time. Invariant: each number from base().number
/// to end() is in exactly one decision, and bytes() is the sum over the records in memory.
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

  /// Adds the decision that begins at end(). `records` has the records of each partition, and
  /// `order` the order in which they are merged. Both are empty for a decision of missing records.
  void add(Decision decision, std::vector<std::vector<LogRecord>> records, std::span<const MergedRecord> order);
  /// Reports the decisions that begin at record `from` or later to an observer.
  void report(DecisionObserver& observer, int64_t from) const;

  /// Null if the record is delivered, not decided, or missing.
  RecordPtr record(int64_t number) const;
  /// Completes a remote record. Ignores a record that is delivered by now, and one of another place
  /// in the log: it was read for a run that is over.
  void fill(int64_t number, LogRecord whole);
  /// Numbers in [from, to) that were decided without records.
  std::vector<int64_t> missing(int64_t from, int64_t to) const;
  /// The offset of the previous record of the same partition; empty if there is none. Record
  /// `number` must not be delivered yet; the previous one may be.
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
    std::vector<RecordPtr> records;    // in merged order; null: delivered, or missing
    std::vector<std::string> offsets;  // offsets of delivered records, by index in `records`
    // For each partition, the indices in `records` of its records, in the order of the log.
    std::vector<std::vector<uint32_t>> log_order;
    std::vector<uint32_t> log_index;  // for each record, its index in its partition's `log_order`
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
