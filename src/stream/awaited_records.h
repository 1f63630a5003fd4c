#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Records that steps of this rank wait for, by number, and the sources from which each can be
/// made available: another rank, the disk, the log. RecordExchange tries them. Implementations own
/// the records and may be used from any thread.
///
/// A record that no step waits for any more counts as available, and receive(), read_from_disk()
/// and read_from_log() have no effect on it.
class AwaitedRecords {
 public:
  virtual ~AwaitedRecords() = default;
  /// The rank that should have the record, in its memory or on its disk.
  virtual int owner(int64_t number) const = 0;
  virtual int own_rank() const = 0;
  virtual bool all_available(std::span<const int64_t> numbers) const = 0;

  /// Takes the record from bytes that its owner sent, as record_bytes() makes them. Corrupt if they
  /// belong to another record.
  virtual Status receive(int64_t number, const Buffer& bytes) = 0;
  /// Reads the record from this rank's own disk. NotFound if it is not there.
  virtual Status read_from_disk(int64_t number) = 0;
  /// Reads the record again from the log. Returns errors of read_record().
  virtual Status read_from_log(int64_t number, const std::stop_token& stop) = 0;
  /// Puts another record in the place of one that the log has trimmed: read_from_log() returned
  /// NotFound. False if there is no other record. True if there is nothing to replace: no step
  /// waits for the record any more.
  virtual bool replace(int64_t number) = 0;
};

}  // namespace forebay
