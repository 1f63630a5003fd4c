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

/// The two files of a shard of samples that can each be read alone.
///
/// `part-N.arrow` is readable by any Arrow reader. It holds the column `id` and then each field.
/// Tensors of varying shape are flat lists, with their shapes in `NAME:shape`. The values of a
/// sample that are not in the index form one byte range. If there is one such field, the file has
/// one record batch whose values lie end to end; otherwise each sample is a record batch.
///
/// `_index/part-N.arrow` holds what a reader keeps in memory, in one record batch:
///
/// | column                           | contents                                               |
/// |----------------------------------|--------------------------------------------------------|
/// | the fields in the index          | their values                                           |
/// | `forebay:begin`, `forebay:bytes` | int64: the sample's range in the shard                 |
/// | `forebay:xxh3`                   | uint64: the low half of its hash                       |
/// | `NAME:shape`                     | int32: shape of a tensor whose shape varies            |
/// | `NAME:begin`, `NAME:bytes`       | int64: range of each field, if the range holds several |
struct ShardFiles {
  BufferChain data;
  Buffer index;
  Buffer identities = {};  ///< identities of its samples; see shard_identities.h
};

/// Indices of the fields in a sample's range, in order.
std::vector<size_t> fields_in_range(std::span<const StoredField> fields);
/// Names of the index columns.
inline constexpr const char* kRangeBegin = "forebay:begin";
inline constexpr const char* kRangeBytes = "forebay:bytes";
inline constexpr const char* kRangeHash = "forebay:xxh3";
std::string shape_column(const Field& field);
std::string begin_column(const Field& field);
std::string bytes_column(const Field& field);
/// Checksum of a sample's range: the low half of its hash.
uint64_t range_hash(std::span<const uint8_t> bytes);
uint64_t range_hash(const BufferChain& file, const ByteRange& range);

/// Writes a shard. The values of `samples` must be computed, and their ids consecutive from `first`
/// on. InvalidArgument, naming the field, if a value does not match `fields`, or two columns would
/// have the same name. `memory` allocates the parts of the shard that are not the samples' own
/// values.
Result<ShardFiles> write_sample_shard(std::span<const StoredField> fields, int64_t first,
                                      std::span<const Record> samples, const TableCodecs& codecs,
                                      const BufferAllocator& memory = {});

}  // namespace forebay
