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
#include "stream/decision_witness.h"
#include "stream/stream_options.h"
#include "stream/waiting.h"

namespace forebay {

/// Decides, decision after decision, which records of a stream come next: from the records that
/// wait, what the trainer asked for, and a guide's answers. Pure in that it has no thread, lock or
/// clock: the same calls in the same order give the same decisions.
///
/// Owned by a Stream, which calls it under its lock. It owns the records that wait and those that
/// are decided, and shares guide and witnesses. seek() comes before everything but the setters.
class Decider {
 public:
  Decider(const StreamOptions& options, size_t partitions) : options_(options), partitions_(partitions) {}

  void set_guide(std::shared_ptr<DecisionGuide> guide) { guide_ = std::move(guide); }
  void set_told(std::shared_ptr<DecisionWitness> told) { told_ = std::move(told); }
  /// As Stream::set_witness().
  int64_t set_witness(std::shared_ptr<DecisionWitness> witness, int64_t from);

  /// Goes on from there, without records.
  void seek(StreamPlace place);
  /// All records, for the caller to destroy without a lock, as DecidedRecords::drop_records().
  struct Dropped {
    std::unique_ptr<Waiting> waiting;
    std::vector<std::vector<DecidedRecords::RecordPtr>> decided;
  };
  Dropped drop_records();

  /// Who says where a run of StreamOptions::from_now begins; kKnown of all others. Tells a
  /// beginning that is known.
  enum class Beginning : uint8_t { kKnown, kSaidByGuide, kEndOfLog };
  Beginning beginning();
  /// The run begins behind these offsets, the ends of the log.
  void begin_behind(std::vector<std::string> ends);
  /// The run begins where the guide says. Whether the guide has said that, or never will.
  bool ask_beginning();

  /// Which of these partitions should be read now.
  std::vector<size_t> wanted(std::span<const size_t> partitions) const;
  /// How much of the memory budget is free.
  uint64_t free_bytes() const;
  /// A record that was read, behind the last one of its partition.
  Status add(LogRecord record) { return waiting_->add(std::move(record)); }
  /// No more records will be added: the log has ended.
  void end_of_log() { over_ = true; }

  /// Whether all records below `end` are decided, or the stream ends before. Decides what it can;
  /// the rest is asked for until settle() says otherwise.
  bool known(int64_t end);
  /// As Stream::hurry().
  bool hurry(int64_t end);
  /// The trainer has no records before those below `end`. Whether more is wanted() for that.
  bool awaits(int64_t end) { return std::exchange(awaited_, std::max(awaited_, end)) < end; }
  /// After any news: decides what was asked for. Whether known() would now say something else.
  bool settle();
  /// Nothing more can be decided. The first reason stays.
  void fail(Status status);
  /// Whether wanted() or ask_beginning() may say something else than before the last call of this.
  bool take_change() { return std::exchange(changed_, false); }

  const Status& failure() const { return failure_; }
  std::optional<int64_t> end() const { return end_; }
  /// The place of a record that is not behind.
  StreamPlace place(int64_t number) const;
  /// The rank or guide that is waited for, for the log; nothing where records are.
  std::optional<std::string> awaited() const;
  const Waiting& waiting() const { return *waiting_; }
  DecidedRecords& decided() { return decided_; }
  const DecidedRecords& decided() const { return decided_; }

 private:
  bool decide_to(int64_t end);
  bool decide();
  bool follows() const { return guide_ && !given_ && !end_; }
  bool may_decide() const { return !guide_ && !end_ && (!told_ || told_->may_decide()); }
  Result<std::optional<Waiting::Taken>> next_taken();
  void accept(Waiting::Taken taken);
  void add_decision(Decision decision, std::vector<std::vector<LogRecord>> records,
                    std::span<const MergedRecord> order);
  void begin_next_decision();
  void tell_beginning();
  std::unique_ptr<Waiting> make_waiting() const;

  const StreamOptions options_;
  const size_t partitions_;
  std::shared_ptr<DecisionGuide> guide_;
  std::shared_ptr<DecisionWitness> witness_, told_;
  std::unique_ptr<Waiting> waiting_;
  DecidedRecords decided_;
  std::optional<Decision> given_;  // the next decision, where it was decided before
  bool tells_after_ = false;       // the next decision with records says where the run began
  bool over_ = false;              // the log has ended
  bool changed_ = false;
  int64_t asked_ = 0;    // somebody waits for the records below
  int64_t awaited_ = 0;  // and for these first of all
  int64_t hurried_ = 0;  // and without patience
  std::optional<int64_t> end_;
  Status failure_;
};

}  // namespace forebay
