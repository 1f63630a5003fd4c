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

/// A log as one sequence of records, numbered from 0. It reads ahead within a memory budget
/// (LogReading), decides which records come next (Decider), and holds decided records until they
/// are delivered. A record is waiting, then decided, then delivered, and never goes back.
///
/// Owned by a run of a loader. All methods may be called from any thread, except where noted. One
/// lock guards the Decider. It is held while the guide and the observers are called, and never
/// while the log is read or the functions of on_arrival() and on_release() are called.
class Stream : private RecordSink {
 public:
  Stream(std::shared_ptr<const RecordLog> log, StreamOptions options);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const RecordLog& log() const { return *log_; }
  const StreamOptions& options() const { return options_; }

  // The setters of this group are called before the first seek().

  /// Sets the function that is called, without a lock, when request() would return another result.
  void on_arrival(std::function<void()> arrived) { arrived_ = std::move(arrived); }
  /// Sets the guide whose decisions the stream follows. Without one it decides itself.
  void set_guide(std::shared_ptr<DecisionGuide> guide) {
    const Lock lock(mutex_);
    decider_.set_guide(std::move(guide));
  }
  /// Sets the observer that sends the decisions to other ranks.
  void set_publisher(std::shared_ptr<DecisionObserver> publisher) {
    const Lock lock(mutex_);
    decider_.set_publisher(std::move(publisher));
  }
  /// Sets a function that is called, without a lock, with each record that the stream releases.
  void on_release(std::function<void(const LogRecord&)> released) { released_ = std::move(released); }

  /// Continues from that place. The first request() after it begins to read. Not to be called
  /// during another seek() or stop().
  void seek(StreamPlace place);
  /// The place where a run without a state begins.
  StreamPlace beginning() const;
  /// Waits until the guide has given the beginning of a run of StreamOptions::from_now, so that
  /// place() has it, too. Returns after `patience` at the latest; the result is whether the
  /// beginning is known. Called after a seek() to beginning(), before anything is known.
  bool await_beginning(std::chrono::milliseconds patience, const std::stop_token& stop);
  /// Ends reading, and waits until the readers have stopped. request() returns false afterwards.
  void stop();
  /// Releases all records. Their places remain for a state. Called after stop().
  void drop_records();

  /// Requests the records below `end`. Returns whether all of them are decided, or the stream is
  /// known to end before them. If not, on_arrival()'s function is called once they are.
  bool request(int64_t end);
  /// The end of the decided records. Unlike request(), does not request more.
  int64_t decided() const { return locked()->decided().end(); }
  /// Reports that the trainer waits for the records below `end` and has no earlier ones. They are
  /// then read even if records of the previous decision fill the memory.
  void set_awaited(int64_t end);
  /// Decides the numbers below `end` without waiting for more records: takes the records that have
  /// arrived, and decides the remaining numbers without records. Called when the trainer waits and
  /// replayed samples can replace missing records. Does nothing if `on_underrun` is kWait or a
  /// guide decides. Returns whether all numbers below `end` are decided. The function of
  /// on_arrival() is not called for these decisions.
  bool decide_now(int64_t end);
  /// Numbers in [from, to) that were decided without records. All of the range must be decided.
  std::vector<int64_t> missing(int64_t from, int64_t to) const { return locked()->decided().missing(from, to); }
  /// The total number of records, if it is known because the log or the guide has ended.
  std::optional<int64_t> end() const { return locked()->end(); }
  /// The error after which no more records come.
  Status failure() const { return locked()->failure(); }
  /// Text for the user's log: the records that the next decision waits for, and the partitions that
  /// give none, with the reason.
  std::string awaited() const;
  /// Makes the stream ask the guide and may_decide() again. Called when their answers have changed.
  void look_again();

  /// Reports every decision from now on to that observer, after those that are made already and
  /// begin at record `from` or later. Null: there is no observer. Returns the number up to which
  /// decisions were reported to the previous observer.
  int64_t set_observer(std::shared_ptr<DecisionObserver> observer, int64_t from);

  /// A record that is decided and not delivered; null for all others.
  std::shared_ptr<const LogRecord> record(int64_t number) const { return locked()->decided().record(number); }
  /// An offset after which reading a record again can begin: that of the record before it in its
  /// partition. Empty if it is the first. The same on every rank.
  std::string offset_before(int64_t number) const { return locked()->decided().offset_before(number); }
  /// Completes a remote record. A record that is delivered by now, or that was read for a run that
  /// is over, is ignored.
  void fill(int64_t number, LogRecord whole);
  /// Ends the stream with that error. Its readers call it, as a RecordSink, and so do the run's
  /// owner and other ranks' liveness checks.
  void fail(Status status) override;
  /// Reports that the records below that number are delivered. The stream releases them.
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
  /// Access to the Decider. The lock is held until this is destroyed.
  struct Locked {
    const Lock lock;
    const Decider& decider;
    const Decider* operator->() const { return &decider; }
  };
  // The lock leaves with the result, which the analysis cannot follow.
  Locked locked() const FOREBAY_NO_THREAD_SAFETY_ANALYSIS { return {Lock(mutex_), decider_}; }

  // The rest of RecordSink, which only `reading_` may call.
  Result<std::vector<std::string>> find_beginning(const std::stop_token& stop) override;
  Demand wait_for_demand(std::span<const size_t> partitions, const std::stop_token& stop) override;
  Status add_records(std::vector<LogRecord> records) override;
  void end_of_log() override;

  /// Makes the decisions that have become possible, and wakes readers. Returns whether the caller
  /// has to call arrived_() once it has released the lock.
  [[nodiscard]] bool on_change() FOREBAY_REQUIRES(mutex_);
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
  bool reads_ FOREBAY_GUARDED_BY(mutex_) = false;  // reading_ was started since the last seek()
  LogReading reading_;                             // last: its threads use the rest
};

}  // namespace forebay
