#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "stream/decider.h"
#include "stream/log_reading.h"
#include "stream/stream_bytes.h"
#include "stream/stream_options.h"

namespace forebay {

/// A log as one sequence of records: reads ahead within a memory budget (LogReading), decides
/// decision after decision which records come next (Decider), and keeps these until they are
/// behind.
///
/// Owned by a run of a loader. All methods may be called from any thread, but for those that say
/// otherwise. One lock guards the Decider; it is held while guide and witnesses are called, and
/// never while the log is read or on_arrival() and on_behind() are called.
class Stream : private RecordSink {
 public:
  Stream(std::shared_ptr<const RecordLog> log, StreamOptions options);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const RecordLog& log() const { return *log_; }
  const StreamOptions& options() const { return options_; }

  /// Before the first seek(): who is told that known() would say something else; who decides; who
  /// follows what is decided here.
  void on_arrival(std::function<void()> arrived) { arrived_ = std::move(arrived); }
  void set_guide(std::shared_ptr<DecisionGuide> guide) { decider_.set_guide(std::move(guide)); }
  void set_told(std::shared_ptr<DecisionWitness> told) { decider_.set_told(std::move(told)); }
  /// Is called with each record that the stream lets go of, without a lock.
  void on_behind(std::function<void(const LogRecord&)> behind) { let_go_ = std::move(behind); }

  /// Goes on from there; nothing is known until the first known() after it, which begins to read.
  /// Not while another seek() or stop() is under way.
  void seek(StreamPlace place);
  /// Where a run without a state begins.
  StreamPlace beginning() const;
  /// Waits until the guide says where a run of StreamOptions::from_now begins, so that place() says
  /// it, too. Waits for so long at most; whether it is known. After a seek() to beginning(), before
  /// anything is known.
  bool await_beginning(std::chrono::milliseconds patience, const std::stop_token& stop);
  /// Ends reading; waits for the readers, at most for what a stop takes them. Nothing is known
  /// afterwards.
  void stop();
  /// After stop(): lets go of all records. Places stay, so that a state can still be told.
  void drop_records();

  /// Whether all records below `end` are decided, or the stream is known to end before.
  bool known(int64_t end);
  /// Records below are decided, without asking for more.
  int64_t decided() const { return locked()->decided().end(); }
  /// The trainer waits for the records below `end` and has none before them: they are read although
  /// its records of the decision before fill the memory.
  void awaits(int64_t end);
  /// The trainer waits for the records below `end`, and old ones can replace them. Unless
  /// `on_underrun` is kWait, a stream that decides takes the records that are there, and decides
  /// the remaining numbers without records. Whether all below `end` are known now. on_arrival() is
  /// not called for what this decides.
  bool hurry(int64_t end);
  /// Numbers in [from, to), which are known, that were decided without records.
  std::vector<int64_t> missing(int64_t from, int64_t to) const { return locked()->decided().missing(from, to); }
  /// How many records there are in all, where that is known: the log has ended, or the guide.
  std::optional<int64_t> end() const { return locked()->end(); }
  /// Why nothing more will ever come.
  Status failure() const { return locked()->failure(); }
  /// For the log: which partitions give nothing, and why.
  std::string awaited() const;
  /// The guide can say more, or the answer of known() may have changed otherwise.
  void look_again();

  /// From now on it is told of every decision, those first that are decided and begin at that
  /// record or later. Null: nobody is. Returns up to which record the witness before was told.
  int64_t set_witness(std::shared_ptr<DecisionWitness> witness, int64_t from);

  /// One that is known and not behind; null for all others.
  std::shared_ptr<const LogRecord> record(int64_t number) const { return locked()->decided().record(number); }
  /// An offset that reading a record again can begin behind: of the record before it in its
  /// partition; empty: it is the first. The same on every rank.
  std::string before(int64_t number) const { return locked()->decided().before(number); }
  /// A record that is away has come. One that is behind by now is not missed.
  void fill(int64_t number, LogRecord whole);
  /// Nothing more can come, for that reason.
  void fail(Status status) override;
  /// Records below that number are not asked for again.
  void behind(int64_t number);
  /// The place of the record of that number, which is not behind.
  StreamPlace place(int64_t number) const { return locked()->place(number); }

  struct Stats {
    int64_t arrived = 0, decided = 0, reconnects = 0, trimmed = 0, missing = 0;
    std::vector<int64_t> dropped;  ///< of each partition, since the stream's beginning
    uint64_t bytes = 0;            ///< in memory
    std::vector<size_t> waiting;   ///< of each partition, records in no decision
  };
  Stats stats() const;
  std::shared_ptr<ReclaimableMemory> kept() const { return kept_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// The Decider for one question, with the lock held as long.
  struct Locked {
    const Lock lock;
    const Decider& decider;
    const Decider* operator->() const { return &decider; }
  };
  Locked locked() const { return {Lock(mutex_), decider_}; }

  Result<std::vector<std::string>> find_beginning(const std::stop_token& stop) override;
  Wanted wait_wanted(std::span<const size_t> partitions, const std::stop_token& stop) override;
  Status take_in(std::vector<LogRecord> records) override;
  void end_of_log() override;

  // With the lock held:
  void after_news(Lock& lock);
  void notify();
  uint64_t bytes() const;

  const std::shared_ptr<const RecordLog> log_;
  const StreamOptions options_;
  const std::shared_ptr<StreamBytes> kept_;
  std::function<void()> arrived_;
  std::function<void(const LogRecord&)> let_go_;

  mutable std::mutex mutex_;
  std::condition_variable_any room_;  // readers may go on, or a beginning is known
  Decider decider_;
  bool stopped_ = true, reads_ = false;
  LogReading reading_;  // last: its threads use the rest
};

}  // namespace forebay
