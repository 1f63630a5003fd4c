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
  /// Bytes of memory outside this engine that belong to the record, such as an object of the user's
  /// program.
  uint64_t external_bytes = 0;
  /// The record has only its partition and offset. Key and payload are at the rank that reads its
  /// partition (AssignedLog).
  bool remote = false;
  /// Bytes of memory that the record takes, without the rest of a larger buffer of which its
  /// payload is a part.
  uint64_t bytes() const;
  /// A copy with a payload of its own. It does not keep a buffer alive that other records share.
  LogRecord deep_copy() const;
};

/// The position where reading a partition begins: after the record of that offset. Empty: at the
/// first record there is.
struct LogPosition {
  size_t partition = 0;
  std::string after;
  /// The partition's first records were read before, so trimmed ones are a gap although `after` is
  /// empty.
  bool known_from_first = false;
};

/// Records that a partition no longer has, although they come after the requested offset.
struct LogGap {
  size_t partition = 0;
  std::optional<int64_t> records;  ///< number of records, if the log knows it
  std::string until;               ///< offset of the first remaining record; empty: none remains
};

/// Reads some partitions of a log from given positions on. Made, used and destroyed on one thread,
/// by a LogReading or by read_record(). It restores a lost connection by itself, for as long as
/// that takes, and meanwhile returns no records.
class LogReader {
 public:
  struct Limits {
    size_t records = 1024;                ///< limit of the records of each wanted partition
    uint64_t bytes = uint64_t{8} << 20;   ///< about the limit of all records; may be exceeded by one
    std::chrono::milliseconds wait{100};  ///< longest wait for the first record
  };
  virtual ~LogReader() = default;

  /// The next records of the wanted partitions (indices of RecordLog::partitions()), each
  /// partition's in its order. Nothing of other partitions is read from the server, except for what
  /// was already under way. Empty after `wait`, or while there is no connection; then trouble()
  /// gives the reason. Errors end the reading: Corrupt, NotFound (the log is gone), InvalidArgument
  /// (not permitted, or not a log). Cancelled after a stop.
  virtual Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                              std::stop_token stop) = 0;
  /// Returns the gaps that were found since the last call: records that the log trimmed before they
  /// were read.
  virtual std::vector<LogGap> take_gaps() { return {}; }
  /// The reason why nothing can be read at the moment ("127.0.0.1:6379: Connection refused"). Empty
  /// if there is none.
  virtual std::string trouble() const { return {}; }
  virtual int64_t reconnects() const { return 0; }
  /// Bytes in memory for the next records, in addition to the returned ones.
  virtual uint64_t held_bytes() const { return 0; }
  /// Whether its partitions have ended and all of their records were returned.
  virtual bool ended() const { return false; }
};

/// A log that others write. It has partitions; each is a sequence of records that grows at its end
/// and may be trimmed at its beginning. Reading again from the same offset gives the same records
/// until they are trimmed. Immutable once opened; may be used from any thread.
class RecordLog {
 public:
  virtual ~RecordLog() = default;

  /// The fields that load() gives. Those that are `fetched` need the object that fetch() names.
  virtual const Schema& schema() const = 0;
  /// The partitions' names, in an order that all hosts agree on.
  virtual const std::vector<std::string>& partitions() const = 0;
  /// The identity of the log in states: kind, address without credentials, stream, and the declared
  /// fields.
  virtual std::string identity() const = 0;
  /// The log in messages: "redis://127.0.0.1:6379/0/clicks", without credentials.
  virtual std::string name() const = 0;

  /// Whether offset, key and payload are the whole record, so that it can be stored elsewhere.
  virtual bool records_are_whole() const { return true; }
  /// Whether each reader costs a server something, as with a broker. If so, the ranks of a job
  /// share the partitions (AssignedLog).
  virtual bool is_served() const { return false; }
  /// How many partitions one reader should have, depending on whether each needs a connection.
  virtual size_t partitions_per_reader() const { return 1; }
  /// The partitions of each reader of a stream. Each partition belongs to exactly one reader.
  virtual std::vector<std::vector<size_t>> readers() const;
  /// Makes a reader. It never waits for the server: read() connects. All of `from` are different
  /// partitions.
  virtual Result<std::unique_ptr<LogReader>> read_after(std::vector<LogPosition> from) const = 0;
  /// The offset of each partition's last record, empty if it has none yet. A run that wants only
  /// new records begins there.
  virtual Result<std::vector<std::string>> ends(std::stop_token stop) const = 0;
  /// Negative, 0 or positive if the record of offset `a` comes before, is, or comes after that of
  /// `b`. Both must be offsets of this log.
  virtual int compare(const std::string& a, const std::string& b) const = 0;
  /// InvalidArgument if the text is no offset of this log. States and journals contain such text.
  virtual Status check_offset(const std::string& offset) const = 0;

  /// The place of a record in messages.
  virtual std::string place_of(const LogRecord& record) const { return record.key; }

  /// The store that fetch() reads from; null if payloads are whole records.
  virtual Store* store() const { return nullptr; }
  /// The object that must be read before load(); nothing if payloads are whole records.
  virtual std::optional<SampleSource::Fetch> fetch(const LogRecord& /*record*/) const { return std::nullopt; }
  /// Fills `out` with one value per field of schema(). Corrupt if the payload does not match.
  virtual Status load(const LogRecord& record, Buffer fetched, Record& out) const = 0;
};

}  // namespace forebay
