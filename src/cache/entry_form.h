#pragma once

#include <cstdint>
#include <string>

#include "base/columns.h"
#include "base/hash.h"
#include "cache/compression.h"

namespace forebay {

/// How an entry lies in memory and on disks: nothing in it is code, and reading it back copies nothing that is not packed.
///
/// | part | bytes | |
/// |---|---|---|
/// | header | 64 | magic, version, entry's id, whole length, length of the description, checksums (xxh3) of the rest and of the header |
/// | description | to the next multiple of 64 | rows; each field's name, kind, type, shape; where its values and offsets are; bad rows |
/// | blocks | each to the next multiple of 64 | values and offsets, as in Columns |
inline constexpr uint64_t kEntryAlignment = 64;
/// The next multiple of it.
constexpr uint64_t to_entry_alignment(uint64_t bytes) {
  return (bytes + kEntryAlignment - 1) / kEntryAlignment * kEntryAlignment;
}
inline constexpr uint64_t kEntryHeaderBytes = 64;

/// The columns as one block of memory that holds these rows and nothing else. Unsupported for what cannot be kept (a bad row
/// whose error is an exception of user code).
Result<Buffer> encode_entry(const Hash128& id, const Columns& columns, Compression compression);

/// The columns in such bytes, as parts of them (or of a copy, where `stored` is not aligned). Corrupt, with what is wrong, unless
/// header, checksums, lengths and offsets are right and the entry is `id`. Memory beyond `stored`: kMaxExpansion times as much at
/// most.
Result<Columns> decode_entry(const Hash128& id, Buffer stored);

/// Puts right the checksums of bytes that were changed on purpose; for tests and fuzzing.
void reseal_entry(Buffer& entry);

/// Which entry the header speaks of and how long it is, where the header's own checksum is right.
struct EntryHeader {
  Hash128 id;
  uint64_t bytes = 0;
};
Result<EntryHeader> read_entry_header(std::span<const uint8_t> header);

}  // namespace forebay
