#pragma once

#include <span>
#include <vector>

#include "base/columns.h"
#include "base/work_memory.h"
#include "format/webdataset/shard_chunks.h"

namespace forebay {

/// Memory of the columns that decode_shard_chunk() makes of a chunk.
uint64_t decoded_shard_bytes(const ShardChunks& chunks, size_t chunk, std::span<const size_t> fields);

/// From the bytes of a chunk to columns of schema_of() the `fields`, which are indices into ShardChunks::fields. `linked`: the bytes of
/// ShardChunks::linked_ranges(). Reads the headers again: Corrupt where they are not those of the index. A row is bad that lacks a
/// field, has one twice, whose text or number is none, or, NotFound, whose link leads to no file of the shard.
Result<Columns> decode_shard_chunk(const ShardChunks& chunks, size_t chunk, std::span<const size_t> fields,
                                   std::span<const uint8_t> bytes, std::span<const std::span<const uint8_t>> linked,
                                   WorkMemory& memory);

}  // namespace forebay
