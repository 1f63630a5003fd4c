#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stream/decided_records.h"
#include "stream/decision_guide.h"
#include "stream/decision_observer.h"
#include "stream/stream_options.h"
#include "stream/waiting.h"

namespace forebay {

/// Decides, decision after decision, which records of a stream come next. It uses the waiting
/// records, the trainer's requests, and the decisions of a guide. It has no thread, lock or clock:
/// the same calls in the same order give the same decisions.
///
/// Owned by a Stream, which calls it under its lock. It owns the waiting records and the decided
/// ones, and shares the guide and the observers. seek() must precede all calls but the setters.
class Decider {
 public:
  Decider(const StreamOptions& options, size_t partitions) : options_(options), partitions_(partitions) {}

  void set_guide(std::shared_ptr<DecisionGuide> guide) { guide_ = std::move(guide); }
  void set_publisher(std::shared_ptr<DecisionObserver> publisher) { publisher_ = std::move(publisher); }
  /// See Stream::set_observer().
  int64_t set_observer(std::shared_ptr<DecisionObserver> observer, int64_t from);

  /// Drops all records and continues from that place.
  void seek(StreamPlace place);
  /// All records, for the caller to destroy without holding a lock; see
  /// DecidedRecords::drop_records().
  struct Dropped {
    std::unique_ptr<WaitingRecords> waiting;
    std::vector<std::vector<DecidedRecords::RecordPtr>> decided;
  };
  Dropped drop_records();

  /// The source of the place where a run begins. All but kKnown are of StreamOptions::from_now.
  enum class Beginning : uint8_t {
    kKnown,
    kFromGuide,  ///< call poll_beginning() until it returns true
    kEndOfLog,   ///< ask the log for its ends, and call set_beginning()
  };
  /// Determines the source of the beginning. Reports a known beginning to the publisher.
  Beginning resolve_beginning();
  /// Sets the beginning of the run to these offsets, the ends of the log.
  void set_beginning(std::vector<std::string> ends);
  /// Sets the beginning of the run to the one that the guide gives. Returns whether the guide has
  /// given it, or never will.
  bool poll_beginning();

  /// Returns those of these partitions that should be read now.
  std::vector<size_t> partitions_to_read(std::span<const size_t> partitions) const;
  /// Bytes of the memory budget that are free.
  uint64_t free_bytes() const;
  /// Adds a record that was read, after the last one of its partition.
  Status add(LogRecord record) { return waiting_->add(std::move(record)); }
  /// Reports that the log has ended: no more records will be added.
  void end_of_log() { log_ended_ = true; }

  /// Requests the records below `end`, and makes the decisions that are possible now. Returns
  /// whether all of these records are decided, or the stream ends before them. Otherwise they stay
  /// requested until decide_requested() returns true.
  bool request(int64_t end);
  /// See Stream::decide_now().
  bool decide_now(int64_t end);
  /// Reports that the trainer waits for the records below `end` and has none before them. Returns
  /// whether partitions_to_read() may return more than before.
  bool set_awaited(int64_t end) { return std::exchange(awaited_end_, std::max(awaited_end_, end)) < end; }
  /// Makes the decisions that were requested. Called after each change. Returns whether request()
  /// would now return another result.
  bool decide_requested();
  /// Reports that nothing more can be decided. The first error stays.
  void fail(Status status);
  /// Returns whether partitions_to_read() or poll_beginning() may return another result than before
  /// the previous call of take_change().
  bool take_change() { return std::exchange(changed_, false); }

  const Status& failure() const { return failure_; }
  std::optional<int64_t> end() const { return end_; }
  /// The place of a record that is not delivered.
  StreamPlace place(int64_t number) const;
  /// The rank or guide that the next decision waits for, as text for the user's log. Nothing if it
  /// waits for records.
  std::optional<std::string> awaited() const;
  const WaitingRecords& waiting() const { return *waiting_; }
  DecidedRecords& decided() { return decided_; }
  const DecidedRecords& decided() const { return decided_; }

 private:
  bool decide_up_to(int64_t end);
  bool decide_next();
  bool follows() const { return guide_ && !given_ && !end_; }
  bool may_decide() const { return !guide_ && !end_ && (!publisher_ || publisher_->may_decide()); }
  Result<std::optional<WaitingRecords::Taken>> next_taken();
  void accept(WaitingRecords::Taken taken);
  void add_decision(Decision decision, std::vector<std::vector<LogRecord>> records,
                    std::span<const MergedRecord> order);
  void begin_next_decision();
  void publish_beginning();
  std::unique_ptr<WaitingRecords> make_waiting() const;

  const StreamOptions options_;
  const size_t partitions_;
  std::shared_ptr<DecisionGuide> guide_;
  std::shared_ptr<DecisionObserver> observer_, publisher_;
  std::unique_ptr<WaitingRecords> waiting_;
  DecidedRecords decided_;
  std::optional<Decision> given_;       // the next decision, if it was made before
  bool next_states_beginning_ = false;  // the next decision with records states where the run began
  bool log_ended_ = false;              // the log has ended
  bool changed_ = false;
  int64_t requested_end_ = 0;   // request() was asked for the records below this number
  int64_t awaited_end_ = 0;     // records below this number are read although memory is full
  int64_t decide_now_end_ = 0;  // records below this number are decided without waiting for missing ones
  std::optional<int64_t> end_;
  Status failure_;
};

}  // namespace forebay
