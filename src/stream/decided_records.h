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
#include "stream/decision_witness.h"
#include "stream/record_log.h"

namespace forebay {

/// The decisions of a stream that are not behind, their records, and the place where they begin.
///
/// Owned by a Decider; for one thread at a time. Each decision begins where the one before ends, so
/// that the records from base().number to end() are here, each in one decision.
class DecidedRecords {
 public:
  using RecordPtr = std::shared_ptr<const LogRecord>;

  /// Forgets everything and goes on from `base`, which stands in no decision.
  void begin(StreamPlace base);
  /// The run began behind these offsets. While base() is that beginning.
  void begin_behind(std::vector<std::string> after);
  const StreamPlace& base() const { return base_; }
  /// The number of the first record that is in no decision.
  int64_t end() const;
  /// Bytes of records in memory.
  uint64_t bytes() const { return bytes_; }

  /// Adds the decision that begins at end(). `records`: of each partition; `order`: where each of
  /// them comes. Both are empty where the decision is of missing records.
  void add(Decision decision, std::vector<std::vector<LogRecord>> records, std::span<const MergedRecord> order);
  /// Tells a witness of those decisions that begin at record `from` or later.
  void tell(DecisionWitness& witness, int64_t from) const;

  /// Null where it is behind, or not decided, or missing.
  RecordPtr record(int64_t number) const;
  /// Puts a whole record in place of one that is away. One that is behind by now is not missed.
  void fill(int64_t number, LogRecord whole);
  /// Numbers in [from, to) that were decided without records.
  std::vector<int64_t> missing(int64_t from, int64_t to) const;
  /// The offset of the record before that one in its partition; empty: that one is the first. The
  /// record itself must not be behind; those before it may be.
  std::string before(int64_t number) const;
  /// The place of record `number`, which is decided and not behind.
  StreamPlace place(int64_t number) const;
  /// How many numbers were decided without records, in all, also before begin().
  int64_t missing_records() const { return missing_records_; }
  /// Records that were dropped of each partition, since the stream's beginning.
  std::vector<int64_t> dropped() const;

  /// Moves records below `number` behind. Returns them, since their end may call a program's own
  /// code: the caller destroys them without a lock.
  std::vector<std::vector<RecordPtr>> move_behind(int64_t number);
  /// The same with all records; places stay.
  std::vector<std::vector<RecordPtr>> drop_records();

 private:
  struct Decided {
    Decision decision;
    std::vector<RecordPtr> records;             // in order; null: behind, or missing
    std::vector<std::string> offsets;           // of records that are behind
    std::vector<std::vector<uint32_t>> in_log;  // of each partition: places in `records`, in the log's order
    std::vector<uint32_t> place_in_log;         // of each record, in the list of its partition
    uint64_t bytes = 0;
    int64_t end() const { return decision.first + static_cast<int64_t>(records.size()); }
  };
  // The decision of a record, and its place in that.
  std::optional<std::pair<size_t, size_t>> find(int64_t number) const;

  StreamPlace base_;
  std::deque<Decided> decisions_;
  uint64_t bytes_ = 0;
  int64_t missing_records_ = 0;
};

}  // namespace forebay
