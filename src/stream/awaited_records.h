#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Records that steps of this rank wait for, by number, and the ways in which one may come;
/// RecordExchange tries them. A record that nobody waits for any more counts as here, and the ways
/// do nothing for it. May be used from any thread.
class AwaitedRecords {
 public:
  virtual ~AwaitedRecords() = default;
  /// The rank that has it in its memory, or on its disk.
  virtual int owner(int64_t number) const = 0;
  virtual int own_rank() const = 0;
  virtual bool here(std::span<const int64_t> numbers) const = 0;

  /// The owner gave these bytes, as record_bytes() makes them. Corrupt where they are not that
  /// record's.
  virtual Status lend(int64_t number, const Buffer& bytes) = 0;
  /// Reads it from this rank's own disk. NotFound where it is not there.
  virtual Status read_here(int64_t number) = 0;
  /// Reads it again from the log. Errors of read_record().
  virtual Status read_again(int64_t number, const std::stop_token& stop) = 0;
  /// The log has forgotten it: puts another record in its place. False where there is none.
  virtual bool replacement(int64_t number) = 0;
};

}  // namespace forebay
