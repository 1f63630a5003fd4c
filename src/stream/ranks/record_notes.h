#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "forebay/buffer.h"
#include "stream/record_log.h"

namespace forebay {

/// A note of a rank that reads a partition for the others, in the partition's order: the offset of a
/// record, or that some are missing.
struct RecordNote {
  std::string offset;  ///< of a record; of a gap, of the first record behind it, empty where there is none
  bool gap = false;
  int64_t missing = -1;  ///< of a gap: how many records, where the log can tell
  friend bool operator==(const RecordNote&, const RecordNote&) = default;
};

/// Three bytes a record and its offset.
Buffer encode_notes(std::span<const RecordNote> notes);
/// Corrupt for what encode_notes() does not make.
Result<std::vector<RecordNote>> parse_notes(std::span<const uint8_t> bytes);

}  // namespace forebay
