#pragma once

#include <span>
#include <vector>

#include "base/columns.h"
#include "base/work_memory.h"
#include "format/webdataset/shard_units.h"

namespace forebay {

/// Memory of the columns that decode_shard_unit() makes of a unit.
uint64_t decoded_shard_bytes(const ShardUnits& units, size_t unit, std::span<const size_t> fields);

/// From the bytes of a unit to columns of schema_of() the `fields`, which are indices into ShardUnits::fields. `linked`: the bytes of
/// ShardUnits::linked_ranges(). Reads the headers again: Corrupt where they are not those of the index. A row is bad that lacks a
/// field, has one twice, whose text or number is none, or, NotFound, whose link leads to no file of the shard.
Result<Columns> decode_shard_unit(const ShardUnits& units, size_t unit, std::span<const size_t> fields,
                                  std::span<const uint8_t> bytes, std::span<const std::span<const uint8_t>> linked,
                                  WorkMemory& memory);

}  // namespace forebay
