#pragma once

#include <cstdint>
#include <string>

#include "base/columns.h"
#include "base/hash.h"
#include "cache/compression.h"

namespace forebay {

/// The form of an entry in memory and on disk. It contains no code, and reading it copies nothing
/// that is not packed.
///
/// | part | bytes | |
/// |---|---|---|
/// | header | 64 | magic, version, entry's id, length, length of the description, two checksums |
/// | description | padded to 64 | rows; each field's name, kind, type, shape, blocks; bad rows |
/// | blocks | each padded to 64 | values and offsets, as in Columns |
///
/// The checksums (xxh3) cover the rest and the header. Parts are padded to a multiple of 64 bytes.
inline constexpr uint64_t kEntryAlignment = 64;
/// Returns the next multiple of kEntryAlignment.
constexpr uint64_t to_entry_alignment(uint64_t bytes) {
  return (bytes + kEntryAlignment - 1) / kEntryAlignment * kEntryAlignment;
}
inline constexpr uint64_t kEntryHeaderBytes = 64;

/// Encodes columns as one block of memory that holds these rows and nothing else. Unsupported if
/// they cannot be stored (a bad row whose error is an exception of user code).
Result<Buffer> encode_entry(const Hash128& id, const Columns& columns, Compression compression);

/// Decodes columns as views of these bytes, or of a copy if `stored` is not aligned. Corrupt, with
/// what is wrong, unless header, checksums, lengths and offsets are right and the entry is `id`.
/// Allocates at most kMaxExpansion times the bytes of `stored`.
Result<Columns> decode_entry(const Hash128& id, Buffer stored);

/// Corrects the checksums of bytes that were changed on purpose; for tests and fuzzing.
void reseal_entry(Buffer& entry);

/// Id and length of an entry, from a header whose own checksum is right.
struct EntryHeader {
  Hash128 id;
  uint64_t bytes = 0;
};
/// Reads the header of an entry. Corrupt if its checksum is wrong.
Result<EntryHeader> read_entry_header(std::span<const uint8_t> header);

}  // namespace forebay
