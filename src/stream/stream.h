#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "stream/decider.h"
#include "stream/log_reading.h"
#include "stream/stream_bytes.h"
#include "stream/stream_options.h"

namespace forebay {

/// A log as one sequence of records. It reads ahead within a memory budget (LogReading), decides
/// which records come next (Decider), and holds these until they are delivered.
///
/// Owned by a run of a loader. All methods may be called from any thread, except where noted. One
/// lock guards the Decider. It is held while the guide and the witnesses are called, and never
/// while the log is read or on_arrival() and on_release() are called.
class Stream : private RecordSink {
 public:
  Stream(std::shared_ptr<const RecordLog> log, StreamOptions options);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const RecordLog& log() const { return *log_; }
  const StreamOptions& options() const { return options_; }

  /// These are set before the first seek(): the function to call when request() would give another
  /// answer; the guide that decides instead of this stream; the witness that passes decisions on to
  /// other ranks.
  void on_arrival(std::function<void()> arrived) { arrived_ = std::move(arrived); }
  void set_guide(std::shared_ptr<DecisionGuide> guide) {
    const Lock lock(mutex_);
    decider_.set_guide(std::move(guide));
  }
  void set_publisher(std::shared_ptr<DecisionObserver> publisher) {
    const Lock lock(mutex_);
    decider_.set_publisher(std::move(publisher));
  }
  /// Sets a function that is called, without a lock, with each record that the stream releases.
  void on_release(std::function<void(const LogRecord&)> released) { released_ = std::move(released); }

  /// Continues from that place. Nothing is known until the first request() after it, which begins to
  /// read. Not to be called during another seek() or stop().
  void seek(StreamPlace place);
  /// The place where a run without a state begins.
  StreamPlace beginning() const;
  /// Waits until the guide has given the beginning of a run of StreamOptions::from_now, so that
  /// place() has it, too. Returns after `patience` at the latest; the result is whether the
  /// beginning is known. Called after a seek() to beginning(), before anything is known.
  bool await_beginning(std::chrono::milliseconds patience, const std::stop_token& stop);
  /// Ends reading. Waits for the readers, at most as long as a stop takes them. Nothing is known
  /// afterwards.
  void stop();
  /// Called after stop(): releases all records. Their places remain for a state.
  void drop_records();

  /// Whether all records below `end` are decided, or the stream is known to end before them.
  bool request(int64_t end);
  /// The end of the decided records. Unlike request(), does not request more.
  int64_t decided() const { return locked()->decided().end(); }
  /// Called when the trainer waits for the records below `end` and has none before them. They are
  /// then read even if records of the previous decision fill the memory.
  void set_awaited(int64_t end);
  /// Called when the trainer waits for the records below `end` and replayed samples can replace
  /// them. Unless `on_underrun` is kWait, a stream that decides takes the records that have
  /// arrived, and decides the remaining numbers without records. Returns whether all below `end`
  /// are known now. on_arrival() is not called for these decisions.
  bool decide_now(int64_t end);
  /// Numbers in [from, to) that were decided without records. All of the range must be known.
  std::vector<int64_t> missing(int64_t from, int64_t to) const { return locked()->decided().missing(from, to); }
  /// The total number of records, if it is known because the log or the guide has ended.
  std::optional<int64_t> end() const { return locked()->end(); }
  /// The error after which no more records come.
  Status failure() const { return locked()->failure(); }
  /// Text for the user's log: what is awaited, which partitions give nothing, and why.
  std::string awaited() const;
  /// Reports that the guide has another answer, or that request() may have one for another reason.
  void look_again();

  /// Reports every decision to that witness from now on. The first ones are decisions that are made
  /// already and begin at record `from` or later. Null: there is no witness. Returns the number up
  /// to which decisions were reported to the previous witness.
  int64_t set_observer(std::shared_ptr<DecisionObserver> observer, int64_t from);

  /// A record that is known and not delivered; null for all others.
  std::shared_ptr<const LogRecord> record(int64_t number) const { return locked()->decided().record(number); }
  /// An offset after which reading a record again can begin: that of the record before it in its
  /// partition. Empty if it is the first. The same on every rank.
  std::string offset_before(int64_t number) const { return locked()->decided().offset_before(number); }
  /// Completes a remote record. A record that is delivered by now, or that was read for a run that
  /// is over, is ignored.
  void fill(int64_t number, LogRecord whole);
  /// Ends the stream with that error.
  void fail(Status status) override;
  /// Reports that the records below that number are delivered: they are not asked for again.
  void delivered(int64_t number);
  /// The place of the record of that number, which must not be delivered yet.
  StreamPlace place(int64_t number) const { return locked()->place(number); }

  struct Stats {
    int64_t arrived = 0, decided = 0, reconnects = 0, trimmed = 0, missing = 0;
    std::vector<int64_t> dropped;  ///< of each partition, since the stream's beginning
    uint64_t bytes = 0;            ///< in memory
    std::vector<size_t> waiting;   ///< of each partition, records that are in no decision
  };
  Stats stats() const;
  std::shared_ptr<ReclaimableMemory> memory() const { return memory_; }

 private:
  /// The Decider for one question. The lock is held until this is destroyed.
  struct Locked {
    const Lock lock;
    const Decider& decider;
    const Decider* operator->() const { return &decider; }
  };
  // The lock leaves with the result, which the analysis cannot follow.
  Locked locked() const FOREBAY_NO_THREAD_SAFETY_ANALYSIS { return {Lock(mutex_), decider_}; }

  Result<std::vector<std::string>> find_beginning(const std::stop_token& stop) override;
  Demand wait_for_demand(std::span<const size_t> partitions, const std::stop_token& stop) override;
  Status add_records(std::vector<LogRecord> records) override;
  void end_of_log() override;

  /// Returns whether the caller has to call arrived_() once it has released the lock.
  bool on_change() FOREBAY_REQUIRES(mutex_);
  void wake_readers() FOREBAY_REQUIRES(mutex_);
  uint64_t bytes() const FOREBAY_REQUIRES(mutex_);

  const std::shared_ptr<const RecordLog> log_;
  const StreamOptions options_;
  const std::shared_ptr<StreamBytes> memory_;
  std::function<void()> arrived_;
  std::function<void(const LogRecord&)> released_;

  mutable Mutex mutex_;
  StoppableCondVar readers_wakeup_;  // notified when readers may continue or a beginning is known
  Decider decider_ FOREBAY_GUARDED_BY(mutex_);
  bool stopped_ FOREBAY_GUARDED_BY(mutex_) = true;
  bool reads_ FOREBAY_GUARDED_BY(mutex_) = false;
  LogReading reading_;  // last: its threads use the rest
};

}  // namespace forebay
