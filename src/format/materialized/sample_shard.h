#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/buffer_chain.h"
#include "base/columns.h"
#include "base/record.h"
#include "base/table_codec.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// A shard of samples that can each be read by themselves: what its two files have, and where.
///
/// `part-N.arrow` has all fields, for everybody: `id`, then each field; tensors whose shape is not known before are flat lists, with
/// their shapes in `NAME:shape`. The values of a sample that are not in the index are one range of bytes: where one field is of that kind there is one record
/// batch, whose values lie end to end; else each sample is a record batch.
///
/// `_index/part-N.arrow` has what a reader keeps in memory, in one record batch:
///
/// | column         | |
/// |----------------|----------------------------------------------------------------|
/// | the fields that are in the index | as they are                                  |
/// | `forebay:begin`, `forebay:bytes` | int64: the sample's range in the shard       |
/// | `forebay:xxh3` | uint64: the low half of its hash                               |
/// | `NAME:shape`   | int32: of a tensor whose shape is not known before             |
/// | `NAME:begin`, `NAME:bytes` | int64: of each field in the range, where there are several |
struct ShardFiles {
  BufferChain data;
  Buffer index;
  Buffer identities = {};  ///< what its samples were made of: see shard_identities.h
};

/// Fields that are in the range of a sample, in their order.
std::vector<size_t> fields_in_range(std::span<const StoredField> fields);
/// Those names.
inline constexpr const char* kRangeBegin = "forebay:begin";
inline constexpr const char* kRangeBytes = "forebay:bytes";
inline constexpr const char* kRangeHash = "forebay:xxh3";
std::string shape_column(const Field& field);
std::string begin_column(const Field& field);
std::string bytes_column(const Field& field);
/// The low half of the hash.
uint64_t range_hash(std::span<const uint8_t> bytes);
uint64_t range_hash(const BufferChain& file, const ByteRange& range);

/// `samples`: with computed values, whose ids follow each other from `first` on. InvalidArgument, naming the field, where one is not as `fields` say, or two columns
/// would have one name. `memory`: of the shard, as far as its values are not in the samples already.
Result<ShardFiles> write_sample_shard(std::span<const StoredField> fields, int64_t first,
                                      std::span<const Record> samples, const TableCodecs& codecs,
                                      const TakeMemory& memory = {});

}  // namespace forebay
