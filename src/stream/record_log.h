#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/schema.h"
#include "base/source.h"
#include "forebay/result.h"

namespace forebay {

class Store;

/// One record of a log, as it was read: not decoded yet.
struct LogRecord {
  size_t partition = 0;
  /// Of this record: reading after it begins with the next one. Text of the log's own form ("1700000000000-3", "4711"), below 1 KB.
  std::string offset;
  /// What messages call it, and what a field `key` holds.
  std::string key;
  /// What RecordLog::load() makes fields of. It may be part of a larger buffer that it keeps alive.
  Buffer payload = {};
  /// Of what it stands for and others hold, as a program of the user's.
  uint64_t elsewhere = 0;
  /// Only its place is here: key and payload are with the rank that reads its partition (AssignedLog).
  bool away = false;
  /// What it takes in memory while it waits, but for what else its payload's buffer keeps alive.
  uint64_t bytes() const;
  /// The same with a payload of its own, for who keeps it when its neighbours have gone.
  LogRecord alone() const;
};

/// Where reading of a partition begins: behind the record of that offset; empty: with the first one there is.
struct LogPosition {
  size_t partition = 0;
  std::string after;
  /// Its first records were read before, so that what is gone of them is a gap also where `after` is empty; else reading begins with what there is.
  bool known_from_first = false;
};

/// Records that a partition no longer has, though they come behind the offset that was asked for.
struct LogGap {
  size_t partition = 0;
  std::optional<int64_t> records;  ///< how many, where the log can tell
  std::string until;               ///< offset of the first record that is there; empty: there is none
};

/// Reads some partitions of a log from given positions on. For one thread. A lost connection is made again by itself, for as long
/// as it takes; whoever waits is told every now and then by an empty answer.
class LogReader {
 public:
  struct Limits {
    size_t records = 1024;                ///< at most, of each wanted partition
    uint64_t bytes = uint64_t{8} << 20;   ///< about, of all: what is begun is read to its end
    std::chrono::milliseconds wait{100};  ///< for the first record
  };
  virtual ~LogReader() = default;

  /// The next records of the wanted partitions (indices of RecordLog::partitions()), of each in its order; nothing of others is read
  /// from the server, or at most what was under way. Empty after `wait`, or while there is no connection (then troubled() says why).
  /// Errors end the reading: Corrupt, NotFound (the log is gone), InvalidArgument (not permitted, not a log). Cancelled after a stop.
  virtual Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                              std::stop_token stop) = 0;
  /// What was found missing since the last call: begin positions that the log has forgotten, and records that it forgot before they were read.
  virtual std::vector<LogGap> take_gaps() { return {}; }
  /// Why nothing can be read at the moment ("127.0.0.1:6379: Connection refused"); empty while all is well.
  virtual std::string troubled() const { return {}; }
  virtual int64_t reconnects() const { return 0; }
  /// What it holds in memory for the next records, beside those that it gave.
  virtual uint64_t held_bytes() const { return 0; }
  /// All that its partitions will ever have was read.
  virtual bool ended() const { return false; }
};

/// A log that others write: partitions, each a sequence of records that grows at its end and may be forgotten at its beginning.
/// Reading again from the same offset gives the same records as long as they are kept. Immutable once opened; from any thread.
class RecordLog {
 public:
  virtual ~RecordLog() = default;

  /// What load() gives. Fields that are `fetched` need what fetch() names.
  virtual const Schema& schema() const = 0;
  /// Their names, in an order that all hosts agree on.
  virtual const std::vector<std::string>& partitions() const = 0;
  /// What identifies it for states: kind, address without credentials, stream; and the declared fields.
  virtual std::string identity() const = 0;
  /// For messages: "redis://127.0.0.1:6379/0/clicks", without credentials.
  virtual std::string name() const = 0;

  /// Whether a record is all in its offset, key and payload, so that it can be kept elsewhere.
  virtual bool records_are_whole() const { return true; }
  /// Whether whoever has it feels each reader, as a broker does: then the ranks of a job share its partitions (AssignedLog).
  virtual bool is_served() const { return false; }
  /// How many partitions one reader should have: a connection each, or all on one.
  virtual size_t partitions_per_reader() const { return 1; }
  /// Which partitions each of a stream's readers has: all of them, each once.
  virtual std::vector<std::vector<size_t>> readers() const;
  /// Never waits for the server: read() connects. `from` are different partitions.
  virtual Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const = 0;
  /// The offset of each partition's last record, empty where there is none yet: where a run that wants only new records begins.
  virtual Result<std::vector<std::string>> ends(std::stop_token stop) const = 0;
  /// Negative, 0 or positive as the record of offset `a` comes before, is, or comes after that of `b`. Both are of this log.
  virtual int compare(const std::string& a, const std::string& b) const = 0;
  /// InvalidArgument for text that is no offset of this log: from states and journals.
  virtual Status check_offset(const std::string& offset) const = 0;

  /// By which messages tell a record.
  virtual std::string place_of(const LogRecord& record) const { return record.key; }

  /// Where fetch() reads; null where payloads have all.
  virtual Store* store() const { return nullptr; }
  /// What must be read before load(); nothing where payloads have all.
  virtual std::optional<SampleSource::Fetch> fetch(const LogRecord& /*record*/) const { return std::nullopt; }
  /// Fills `out` (one value per field of schema()). Corrupt for a payload that is none.
  virtual Status load(const LogRecord& record, Buffer fetched, Record& out) const = 0;
};

}  // namespace forebay
