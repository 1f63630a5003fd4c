#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "forebay/buffer.h"
#include "stream/record_log.h"

namespace forebay {

/// A note by which the rank that reads a partition tells the other ranks of one record, or of a gap
/// in the log. Notes are in the order of the partition.
struct RecordNote {
  /// The record's offset. For a gap: that of the first record after it, empty if there is none.
  std::string offset;
  bool gap = false;
  int64_t missing = -1;  ///< records in the gap; -1: unknown
  friend bool operator==(const RecordNote&, const RecordNote&) = default;
};

/// A record takes its offset and five bytes.
Buffer encode_notes(std::span<const RecordNote> notes);
/// Corrupt for bytes that encode_notes() does not make.
Result<std::vector<RecordNote>> parse_notes(std::span<const uint8_t> bytes);

}  // namespace forebay
