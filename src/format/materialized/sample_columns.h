#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/buffer_chain.h"
#include "base/columns.h"
#include "base/read_request.h"
#include "base/record.h"
#include "base/take_memory.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// The bytes of a value that was computed.
std::span<const uint8_t> bytes_of(const Value& value);
/// Unknown before the sample is seen, and in its range: its shapes stand in a column of their own.
bool has_shape_column(const StoredField& stored);
/// InvalidArgument, naming the field, where a sample's value is not as the field says, or two columns would have one name.
Status check_samples(std::span<const StoredField> fields, std::span<const Record> samples);

/// One field of all samples as a column; tensors whose shape is not known before as flat lists.
Status add_field(Columns& columns, const StoredField& stored, std::span<const Record> samples, size_t number,
                 const TakeMemory& memory);
/// A column of numbers, row by row.
void add_int64(Columns& columns, std::string name, const std::function<int64_t(size_t)>& of_row);
void add_uint64(Columns& columns, std::string name, const std::function<uint64_t(size_t)>& of_row);
/// The shapes of one field of all samples.
void add_shapes(Columns& columns, const Field& field, std::span<const Record> samples, size_t number);

/// Where the values of one sample lie in its shard: all together, and those fields that are in the range, in the file.
struct SampleRange {
  uint64_t begin = 0, end = 0;
  std::vector<ByteRange> fields;

  /// Of its fields.
  static SampleRange around(std::vector<ByteRange> fields);
};

/// What readers have in memory of a shard with those bytes: see ShardFiles.
Result<Columns> index_of(std::span<const StoredField> fields, std::span<const Record> samples,
                         std::span<const SampleRange> ranges, const BufferChain& shard);

}  // namespace forebay
