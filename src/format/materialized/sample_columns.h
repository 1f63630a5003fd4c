#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/buffer_allocator.h"
#include "base/buffer_chain.h"
#include "base/columns.h"
#include "base/read_request.h"
#include "base/record.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// The bytes of a materialized value.
std::span<const uint8_t> bytes_of(const Value& value);
/// True if the shapes of a field are stored in a column of their own, because they vary and the
/// field is in the range.
bool has_shape_column(const StoredField& stored);
/// InvalidArgument, naming the field, if a sample's value does not match its field, or two columns
/// would have the same name.
Status check_samples(std::span<const StoredField> fields, std::span<const Record> samples);

/// Appends one field of all samples as a column. Tensors of varying shape become flat lists.
Status add_field(Columns& columns, const StoredField& stored, std::span<const Record> samples, size_t number,
                 const BufferAllocator& memory);
/// Appends a column of numbers; `of_row` returns the value of a row.
void add_int64(Columns& columns, std::string name, const std::function<int64_t(size_t)>& of_row);
void add_uint64(Columns& columns, std::string name, const std::function<uint64_t(size_t)>& of_row);
/// Appends the shapes of one field of all samples.
void add_shapes(Columns& columns, const Field& field, std::span<const Record> samples, size_t number);

/// The place of one sample's values in its shard: the whole range, and the file range of each field
/// in it.
struct SampleRange {
  uint64_t begin = 0, end = 0;
  std::vector<ByteRange> fields;

  /// The smallest range that contains all `fields`.
  static SampleRange around(std::vector<ByteRange> fields);
};

/// The in-memory index of a shard with these bytes; see ShardFiles.
Result<Columns> index_of(std::span<const StoredField> fields, std::span<const Record> samples,
                         std::span<const SampleRange> ranges, const BufferChain& shard);

}  // namespace forebay
