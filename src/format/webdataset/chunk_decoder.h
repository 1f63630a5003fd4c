#pragma once

#include <span>
#include <vector>

#include "base/columns.h"
#include "base/work_memory.h"
#include "format/webdataset/shard_chunks.h"

namespace forebay {

/// Memory of the columns that decode_shard_chunk() returns for a chunk.
uint64_t decoded_shard_bytes(const ShardChunks& chunks, size_t chunk, std::span<const size_t> fields);

/// Decodes the bytes of a chunk to columns as in schema_of(). `fields` are indices into
/// ShardChunks::fields; `linked` holds the bytes of ShardChunks::linked_ranges(). The headers are
/// parsed again: Corrupt if they differ from the index. A row is bad if it lacks a field, has one
/// twice, or has a text or number that cannot be parsed. It is bad with NotFound if its link leads
/// to no file of the shard.
Result<Columns> decode_shard_chunk(const ShardChunks& chunks, size_t chunk, std::span<const size_t> fields,
                                   std::span<const uint8_t> bytes, std::span<const std::span<const uint8_t>> linked,
                                   WorkMemory& memory);

}  // namespace forebay
