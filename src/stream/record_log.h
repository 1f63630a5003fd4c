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

/// One record of a log as it was read, before it is decoded.
struct LogRecord {
  size_t partition = 0;
  /// The place of this record in its partition; reading after it begins with the next record. Text
  /// in the log's own form ("1700000000000-3", "4711"), below 1 KB.
  std::string offset;
  /// The name of the record in messages, and the value of a field `key`.
  std::string key;
  /// The bytes that RecordLog::load() makes fields of. They may be part of a larger buffer, which
  /// they keep alive.
  Buffer payload = {};
  /// Bytes that somebody else holds for this record, such as a program of the user's.
  uint64_t elsewhere = 0;
  /// Only its place is here: key and payload are with the rank that reads its partition (AssignedLog).
  bool away = false;
  /// Bytes in memory while the record waits. The rest of a larger buffer that its payload keeps
  /// alive is not counted.
  uint64_t bytes() const;
  /// A copy with a payload of its own, which outlives the records that were read with it.
  LogRecord alone() const;
};

/// The position where reading a partition begins: after the record of that offset; empty: with the
/// first record there is.
struct LogPosition {
  size_t partition = 0;
  std::string after;
  /// The partition's first records were read before, so that trimmed ones are a gap although
  /// `after` is empty.
  bool known_from_first = false;
};

/// Records that a partition no longer has, although they come after the offset that was asked for.
struct LogGap {
  size_t partition = 0;
  std::optional<int64_t> records;  ///< how many, where the log can tell
  std::string until;               ///< offset of the first record that is there; empty: there is none
};

/// Reads some partitions of a log from given positions on. Made, used and destroyed on one thread.
/// It makes a lost connection again by itself, for as long as that takes, and meanwhile returns
/// empty answers.
class LogReader {
 public:
  struct Limits {
    size_t records = 1024;                ///< at most, of each wanted partition
    uint64_t bytes = uint64_t{8} << 20;   ///< about, of all: what is begun is read to its end
    std::chrono::milliseconds wait{100};  ///< for the first record
  };
  virtual ~LogReader() = default;

  /// The next records of the wanted partitions (indices of RecordLog::partitions()), of each in its
  /// order; nothing of others is read from the server, or at most what was under way. Empty after
  /// `wait`, or while there is no connection (then troubled() says why). Errors end the reading:
  /// Corrupt, NotFound (the log is gone), InvalidArgument (not permitted, not a log). Cancelled
  /// after a stop.
  virtual Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                              std::stop_token stop) = 0;
  /// Gaps that were found since the last call: positions that the log has forgotten, and records
  /// that it forgot before they were read.
  virtual std::vector<LogGap> take_gaps() { return {}; }
  /// Why nothing can be read at the moment ("127.0.0.1:6379: Connection refused"); empty while all
  /// is well.
  virtual std::string troubled() const { return {}; }
  virtual int64_t reconnects() const { return 0; }
  /// Bytes in memory for the next records, beside those that were returned.
  virtual uint64_t held_bytes() const { return 0; }
  /// Its partitions have ended, and all of their records were returned.
  virtual bool ended() const { return false; }
};

/// A log that others write: partitions, each a sequence of records that grows at its end and may be
/// forgotten at its beginning. Reading again from the same offset gives the same records as long as
/// they are kept. Immutable once opened; from any thread.
class RecordLog {
 public:
  virtual ~RecordLog() = default;

  /// The fields that load() gives. Fields that are `fetched` need the object that fetch() names.
  virtual const Schema& schema() const = 0;
  /// Their names, in an order that all hosts agree on.
  virtual const std::vector<std::string>& partitions() const = 0;
  /// The identity of the log in states: kind, address without credentials, stream, and the declared
  /// fields.
  virtual std::string identity() const = 0;
  /// For messages: "redis://127.0.0.1:6379/0/clicks", without credentials.
  virtual std::string name() const = 0;

  /// Whether offset, key and payload are the whole record, so that it can be kept elsewhere.
  virtual bool records_are_whole() const { return true; }
  /// Whether each reader costs a server something, as with a broker: then the ranks of a job share
  /// the partitions (AssignedLog).
  virtual bool is_served() const { return false; }
  /// How many partitions one reader should have: a connection each, or all on one.
  virtual size_t partitions_per_reader() const { return 1; }
  /// The partitions of each reader of a stream. Every partition has one reader.
  virtual std::vector<std::vector<size_t>> readers() const;
  /// Never waits for the server: read() connects. `from` are different partitions.
  virtual Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const = 0;
  /// The offset of each partition's last record, empty where there is none yet: where a run that
  /// wants only new records begins.
  virtual Result<std::vector<std::string>> ends(std::stop_token stop) const = 0;
  /// Negative, 0 or positive as the record of offset `a` comes before, is, or comes after that of
  /// `b`. Both are of this log.
  virtual int compare(const std::string& a, const std::string& b) const = 0;
  /// InvalidArgument for text that is no offset of this log: from states and journals.
  virtual Status check_offset(const std::string& offset) const = 0;

  /// The place of a record in messages.
  virtual std::string place_of(const LogRecord& record) const { return record.key; }

  /// The store that fetch() reads from; null where payloads are whole records.
  virtual Store* store() const { return nullptr; }
  /// The object that must be read before load(); nothing where payloads are whole records.
  virtual std::optional<SampleSource::Fetch> fetch(const LogRecord& /*record*/) const { return std::nullopt; }
  /// Fills `out` (one value per field of schema()). Corrupt for a payload that is none.
  virtual Status load(const LogRecord& record, Buffer fetched, Record& out) const = 0;
};

}  // namespace forebay
