#pragma once

#include <cstdint>

#include "forebay/buffer.h"
#include "forebay/result.h"
#include "stream/record_log.h"

namespace forebay {

/// A record as bytes, with a checksum, for a disk or another rank: all but its partition, which
/// whoever reads it back knows.
Buffer record_bytes(const LogRecord& record);

/// How many these are in all, by the first kRecordHeadBytes of them. Any number, where they are
/// none.
inline constexpr size_t kRecordHeadBytes = 24;
uint64_t record_size(const uint8_t* head);

/// The payload stays part of `bytes`. Corrupt for anything that record_bytes() did not make.
Result<LogRecord> parse_record(const Buffer& bytes, size_t partition);

}  // namespace forebay
