#pragma once

#include <cstdint>

#include "forebay/buffer.h"
#include "forebay/result.h"
#include "stream/record_log.h"

namespace forebay {

/// A record as bytes with a checksum, for a disk or another rank. Its partition is not included:
/// the reader of the bytes knows it.
Buffer record_bytes(const LogRecord& record);

/// The total size of a record, from its first kRecordHeadBytes. Any number if these belong to no
/// record.
inline constexpr size_t kRecordHeadBytes = 24;
uint64_t record_size(const uint8_t* head);

/// The payload stays part of `bytes`. Corrupt if record_bytes() did not make the bytes.
Result<LogRecord> parse_record(const Buffer& bytes, size_t partition);

}  // namespace forebay
