#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "stream/record_log.h"

namespace forebay {

/// Takes the records that a LogReading reads. Called from its threads, without a lock.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Before anything is read, on one thread: of each partition, the offset that reading begins
  /// behind.
  virtual Result<std::vector<std::string>> find_beginning(const std::stop_token& stop) = 0;
  struct Wanted {
    std::vector<size_t> partitions;  ///< none: a stop is requested
    uint64_t free_bytes = 0;         ///< of memory, for all readers together
  };
  /// Waits until some of these partitions, which one reader has, should be read.
  virtual Wanted wait_wanted(std::span<const size_t> partitions, const std::stop_token& stop) = 0;
  /// Records as they were read, of each partition in its order. A failure ends the reading.
  virtual Status take_in(std::vector<LogRecord> records) = 0;
  /// All partitions have ended.
  virtual void end_of_log() = 0;
  /// Nothing more will be read, for that reason.
  virtual void fail(Status status) = 0;
};

/// Reads a log into a sink, on a thread for each reader of the log, and knows what there is to say
/// of these.
///
/// Owned by a Stream, which is its sink and outlives it. A LogReader is made, used and destroyed on
/// its own thread. start(), request_stop() and join() are called by one thread at a time; the other
/// methods from any, also under the sink's lock: this class calls its sink without a lock of its
/// own.
class LogReading {
 public:
  /// A point in time of a clock that only goes forward, in nanoseconds.
  using Clock = std::function<int64_t()>;
  /// `skip_trimmed`: records that the log has forgotten are no error.
  LogReading(std::shared_ptr<const RecordLog> log, bool skip_trimmed, RecordSink& sink, Clock clock = monotonic_ns);
  ~LogReading();

  /// Begins to read. Unavailable where no thread is to be had.
  Status start();
  void request_stop() { thread_.request_stop(); }
  /// Waits for the threads, behind request_stop(): at most for what a stop takes the log.
  void join();

  /// The log's ends, asked for until it answers. For RecordSink::find_beginning().
  Result<std::vector<std::string>> ends(const std::stop_token& stop);

  /// Memory of the readers, beside the records that the sink has.
  uint64_t held_bytes() const;
  struct Stats {
    int64_t arrived = 0, reconnects = 0, trimmed = 0;
  };
  Stats stats() const;
  /// For the log: that records of so many are there where `records` are wanted, `waiting` of each
  /// partition; which partitions give nothing, and why.
  std::string awaited(std::span<const size_t> waiting, size_t records) const;

 private:
  void read_all(const std::stop_token& stop);
  void read(size_t number, const std::vector<LogPosition>& from, const std::stop_token& stop);
  Status take_in(size_t number, LogReader& reader, std::vector<LogRecord> records);
  Status note_gaps(const std::vector<LogGap>& gaps);

  const std::shared_ptr<const RecordLog> log_;
  const bool skip_trimmed_;
  RecordSink& sink_;
  const Clock clock_;
  mutable std::mutex mutex_;
  std::vector<std::string> troubles_;  // by reader
  std::vector<uint64_t> held_bytes_;   // by reader
  std::vector<int64_t> heard_ns_;      // by partition: when it last gave something; 0: not since start()
  Stats stats_;
  std::atomic<size_t> reading_ = 0;  // readers whose partitions have not ended
  std::jthread thread_;
};

}  // namespace forebay
