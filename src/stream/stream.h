#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/kept_bytes.h"
#include "stream/decision.h"
#include "stream/record_log.h"
#include "stream/waiting.h"

namespace forebay {

/// Decisions that were made before, or elsewhere: by a journal, or by another rank.
class DecisionGuide {
 public:
  virtual ~DecisionGuide() = default;
  enum class Says : uint8_t { kThis, kLater, kEnd };
  struct Answer {
    Says says = Says::kEnd;
    Decision decision;  ///< with kThis
  };
  /// What begins with that record. Called under a lock: it never waits. After kLater, whoever has the guide calls Stream::look_again().
  virtual Result<Answer> at(int64_t first) = 0;
  /// Of a run that wants only what comes from now on, the offsets that it begins behind, where these are known before its first decision. As at().
  virtual std::optional<std::vector<std::string>> beginning() { return std::nullopt; }
  /// What kLater waits for, for the log.
  virtual std::string awaited() const { return {}; }
};

/// Is told of every decision, in order, once it is decided.
class DecisionWitness {
 public:
  virtual ~DecisionWitness() = default;
  /// Called under a lock: it never waits.
  virtual void decided(const Decision& decision) = 0;
  /// The run, which wants only what comes from now on, begins behind these offsets.
  virtual void begins(const std::vector<std::string>& /*after*/) {}
  /// No decision follows the last one, which ended in front of that record.
  virtual void ended(int64_t /*first*/) {}
  /// Whether one more decision may be decided now; when that changes, whoever says so calls Stream::look_again().
  virtual bool may_decide() { return true; }
  /// What that waits for, for the log.
  virtual std::string awaited() const { return {}; }
};

struct StreamOptions {
  uint64_t seed = 0;
  size_t decision_records = 1;  ///< records that are decided at a time
  bool shuffled = false;        ///< inside a decision
  BufferPolicy policy = BufferPolicy::kBlock;
  OnUnderrun on_underrun = OnUnderrun::kWait;
  uint64_t bytes = uint64_t{64} << 20;     ///< of records in memory, but for what one decision needs
  std::shared_ptr<SpillSpace> spill = {};  ///< with kSpill
  bool skip_trimmed = false;               ///< what the log has forgotten is no error
  bool from_now = false;  ///< a run without a place (not StreamPlace::begun) begins behind what the log has
};

/// What a stream holds in memory, for the sum of a loader. Nobody can have it back: it is what comes next.
class StreamBytes final : public KeptBytes {
 public:
  uint64_t bytes() const override { return bytes_; }
  uint64_t give_back(uint64_t) override { return 0; }
  void set(uint64_t bytes) { bytes_ = bytes; }

 private:
  std::atomic<uint64_t> bytes_ = 0;
};

/// A log as one sequence of records. Reads ahead within a budget, decides decision after decision which records come next, and keeps these until they
/// are behind. All methods may be called from any thread, but for those that say otherwise.
class Stream {
 public:
  Stream(std::shared_ptr<const RecordLog> log, StreamOptions options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const RecordLog& log() const { return *log_; }
  const StreamOptions& options() const { return options_; }

  /// Before the first seek(): who is told that known() would say something else; who decides; who
  /// follows what is decided here.
  void on_arrival(std::function<void()> arrived) { arrived_ = std::move(arrived); }
  void set_guide(std::shared_ptr<DecisionGuide> guide) { guide_ = std::move(guide); }
  void set_told(std::shared_ptr<DecisionWitness> told) { told_ = std::move(told); }
  /// Is called with each record that the stream lets go of, without a lock.
  void on_behind(std::function<void(const LogRecord&)> behind) { let_go_ = std::move(behind); }

  /// Goes on from there; nothing is known until the first known() after it, which begins to read. Not while another seek() or stop() is under way.
  void seek(StreamPlace place);
  /// Where a run without a state begins.
  StreamPlace beginning() const;
  /// Behind a seek() to beginning(), before anything is known, where a guide decides and StreamOptions::from_now: waits until the guide says where that is,
  /// so that place() says it, too. For so long at most: whether it is known.
  bool await_beginning(std::chrono::milliseconds patience, const std::stop_token& stop);
  /// Ends reading; waits for the readers, at most for what a stop takes them. Nothing is known afterwards.
  void stop();
  /// Behind stop(): what records there are is let go of. Places stay, so that a state can still be told.
  void drop_records();

  /// Whether all records below `end` are decided and there, or the stream is known to end before.
  bool known(int64_t end);
  /// Records below are decided, without asking for more.
  int64_t decided() const;
  /// The trainer waits for the records below `end` and has none before them: they are read although what it has of a decision before fills the memory.
  void awaits(int64_t end);
  /// The trainer waits for the records below `end`, and old ones can stand in. Unless `on_underrun` is kWait, whoever decides takes what is there; the numbers that
  /// are left are decided without records. Whether all below `end` is known now. Who asked for it by known() is not told of what this decides.
  bool hurry(int64_t end);
  /// Numbers in [from, to), which are known, that were decided without records.
  std::vector<int64_t> missing(int64_t from, int64_t to) const;
  /// How many records there are in all, where that is known: the log has ended, or the guide.
  std::optional<int64_t> end() const;
  /// Why nothing more will ever come.
  Status failure() const;
  /// For the log: which partitions give nothing, and why.
  std::string awaited() const;
  /// The guide can say more, or the answer of known() may have changed otherwise.
  void look_again();

  /// From now on it is told of every decision, those first that are decided and begin at that record or later. Null: nobody is.
  /// Gives back up to which record the one before was told.
  int64_t set_witness(std::shared_ptr<DecisionWitness> witness, int64_t from);

  /// One that is known and not behind; null for all others.
  std::shared_ptr<const LogRecord> record(int64_t number) const;
  /// An offset that reading a record again can begin behind: of the record before it in its partition; empty: the first there is. The same on every rank.
  std::string before(int64_t number) const;
  /// A record that is away has come. One that is behind by now is not missed.
  void fill(int64_t number, LogRecord whole);
  /// Nothing more can come, for that reason.
  void fail(Status status);
  /// Records below that number are not asked for again.
  void behind(int64_t number);
  /// Of the record of that number, which is not behind.
  StreamPlace place(int64_t number) const;

  struct Stats {
    int64_t arrived = 0, decided = 0, reconnects = 0, trimmed = 0, missing = 0;
    std::vector<int64_t> dropped;  ///< of each partition, since the stream's beginning
    uint64_t bytes = 0;            ///< in memory
    std::vector<size_t> waiting;   ///< of each partition, records in no decision
  };
  Stats stats() const;
  std::shared_ptr<KeptBytes> kept() const { return kept_; }

 private:
  struct Decided {
    Decision decision;
    std::vector<std::shared_ptr<const LogRecord>> records;  // in order; null: behind, or none had come
    std::vector<std::string> offsets;                       // of those that are behind
    std::vector<std::vector<uint32_t>> in_log;  // of each partition: places in `records`, in the log's order
    std::vector<uint32_t> place_in_log;         // of each record, in the list of its partition
    uint64_t bytes = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  std::unique_ptr<Waiting> make_waiting() const;
  // stream_reading.cc
  void start_reading();
  void read_all(std::stop_token stop);
  void read(size_t reader, const std::vector<LogPosition>& from, std::stop_token stop);
  Status find_beginning(std::stop_token stop);
  std::vector<std::vector<LogPosition>> reader_positions() const;
  std::vector<size_t> wanted(const std::vector<LogPosition>& mine) const;
  LogReader::Limits limits() const;
  Status take_in(size_t reader, LogReader& from, std::vector<LogRecord> records);
  Status note_gaps(const std::vector<LogGap>& gaps);
  void after_news(Lock& lock);

  // With the lock held:
  std::optional<std::pair<size_t, size_t>> find(int64_t number) const;  // its decision, and its place in that
  bool decide();
  bool may_underrun() const;
  void end_here();
  Result<std::optional<Waiting::Taken>> next_taken();
  void accept(Waiting::Taken taken);
  void accept_missing(int64_t numbers);
  void add(Decided decided);
  void begin_next_decision();
  uint64_t bytes() const;
  static void move_on(StreamPlace& place, const Decision& decision);

  const std::shared_ptr<const RecordLog> log_;
  const StreamOptions options_;
  const std::shared_ptr<StreamBytes> kept_;
  std::function<void()> arrived_;
  std::function<void(const LogRecord&)> let_go_;
  std::shared_ptr<DecisionGuide> guide_;
  std::shared_ptr<DecisionWitness> witness_, told_;

  mutable std::mutex mutex_;
  std::condition_variable_any room_;
  std::unique_ptr<Waiting> waiting_;
  std::deque<Decided> decisions_;
  StreamPlace base_;     // before the first of `decisions_`
  int64_t decided_ = 0;  // records below are in decisions
  uint64_t decision_bytes_ = 0;
  std::optional<Decision> given_;  // the next decision, where it was decided before
  bool tells_after_ = false;       // the next one with records says where the run began
  bool stopped_ = true, reading_ = false;
  int64_t asked_ = 0;    // somebody waits for the records below
  int64_t awaited_ = 0;  // and for these first of all
  int64_t hurried_ = 0;  // and without patience
  int64_t missing_records_ = 0;
  size_t readers_ = 0, ended_ = 0;
  std::optional<int64_t> end_;
  Status failure_;
  std::vector<std::string> troubles_;  // by reader
  std::vector<uint64_t> held_;         // by reader: LogReader::held_bytes()
  std::vector<int64_t> heard_ns_;      // by partition: when it last gave something
  int64_t arrived_records_ = 0, reconnects_ = 0;
  int64_t trimmed_ = 0;
  std::jthread reading_thread_;
};

}  // namespace forebay
