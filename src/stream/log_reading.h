#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "stream/record_log.h"
#include "stream/stream_clock.h"

namespace forebay {

/// Receives the records that a LogReading reads, and limits how far it reads ahead. Implemented by
/// Stream. Called from the threads of the LogReading, without a lock.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Returns for each partition the offset after which reading begins. Called once for each
  /// LogReading::start(), before anything is read. May wait until a stop.
  virtual Result<std::vector<std::string>> find_beginning(const std::stop_token& stop) = 0;
  struct Demand {
    std::vector<size_t> partitions;  ///< empty: a stop is requested
    uint64_t free_bytes = 0;         ///< free bytes of the memory budget, for all readers together
  };
  /// Waits until some of these partitions, which belong to one reader, should be read, or until a
  /// stop.
  virtual Demand wait_for_demand(std::span<const size_t> partitions, const std::stop_token& stop) = 0;
  /// Adds records in the order in which they were read. An error ends the reading.
  virtual Status add_records(std::vector<LogRecord> records) = 0;
  /// Reports that all partitions have ended.
  virtual void end_of_log() = 0;
  /// Reports that nothing more will be read, because of that error.
  virtual void fail(Status status) = 0;
};

/// Reads a log into a sink, on one thread per reader of the log, and collects the statistics and
/// problems of these readers.
///
/// Owned by a Stream, which is its sink and outlives it. A LogReader is made, used and destroyed on
/// its own thread. start(), request_stop() and join() are called by one thread at a time. The other
/// methods may be called from any thread, even under the sink's lock: this class holds no lock of
/// its own while it calls the sink.
class LogReading {
 public:
  /// `skip_trimmed`: records that the log has trimmed are skipped. Otherwise they are an error.
  LogReading(std::shared_ptr<const RecordLog> log, bool skip_trimmed, RecordSink& sink,
             StreamClock& clock = StreamClock::real());
  ~LogReading();

  /// Begins to read. Unavailable if no thread can be started.
  Status start();
  void request_stop() { thread_.request_stop(); }
  /// Waits for the threads after request_stop(), at most as long as the log takes to stop.
  void join();

  /// Asks for the log's ends until the log answers. For RecordSink::find_beginning().
  Result<std::vector<std::string>> ends(const std::stop_token& stop);

  /// Bytes in the readers' memory, in addition to the records that the sink has.
  uint64_t held_bytes() const;
  struct Stats {
    int64_t arrived = 0, reconnects = 0, trimmed = 0;
  };
  Stats stats() const;
  /// Text for the user's log: how many of the `records` for the next batch have arrived (`waiting`
  /// of each partition), and which partitions give no records, with the reason.
  std::string awaited(std::span<const size_t> waiting, size_t records) const;

 private:
  void read_all(const std::stop_token& stop);
  void read(size_t number, const std::vector<LogPosition>& from, const std::stop_token& stop);
  Status add_records(size_t number, LogReader& reader, std::vector<LogRecord> records);
  Status note_gaps(const std::vector<LogGap>& gaps);

  const std::shared_ptr<const RecordLog> log_;
  const bool skip_trimmed_;
  RecordSink& sink_;
  StreamClock& clock_;
  mutable Mutex mutex_;
  std::vector<std::string> troubles_ FOREBAY_GUARDED_BY(mutex_);  // by reader
  std::vector<uint64_t> held_bytes_ FOREBAY_GUARDED_BY(mutex_);   // by reader
  std::vector<int64_t> reconnects_ FOREBAY_GUARDED_BY(mutex_);    // by reader: those counted in `stats_`
  // By partition: time of the last record.
  std::vector<std::optional<StreamClock::Time>> heard_ FOREBAY_GUARDED_BY(mutex_);
  Stats stats_ FOREBAY_GUARDED_BY(mutex_);
  std::atomic<size_t> reading_ = 0;  // readers whose partitions have not ended
  std::jthread thread_;
};

}  // namespace forebay
