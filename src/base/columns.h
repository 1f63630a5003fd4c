#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/record.h"
#include "base/schema.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// One field of many rows, values end to end.
///
/// | field                                      | values                           | offsets                          |
/// |--------------------------------------------|----------------------------------|----------------------------------|
/// | tensor of known shape                      | rows × row bytes                 | none                             |
/// | tensor of rank 1 and unknown length (list) | elements of all rows end to end  | int64 (rows + 1), in elements    |
/// | bytes, text                                | all strings end to end           | int64 (rows + 1), in bytes       |
/// | lists of bytes or text                     | each row's StringList, end to end | int64 (rows + 1), in bytes      |
///
/// Offsets begin at any number, never fall, and end within `values`.
struct ColumnValues {
  Buffer values;
  Buffer offsets;

  const int64_t* offset() const { return reinterpret_cast<const int64_t*>(offsets.data()); }
};

/// Many rows of a schema, column by column: what a chunk of a table is decoded to, what caches keep, and what operators change in
/// bulk. Shared by threads once made; the columns' memory may be shared with others, so whoever changes values makes new memory.
struct Columns {
  Schema schema;  ///< fields of any kind but kAny; tensors of known shape, or of rank 1 and unknown length
  int64_t rows = 0;
  std::vector<ColumnValues> values;  ///< one for each field of the schema
  /// Rows that are bad in themselves (a null where none is allowed, …): row → what is wrong. Their values are there, and mean
  /// nothing. Null where there are none.
  std::shared_ptr<const std::map<int64_t, Status>> bad_rows = nullptr;

  /// Bytes of all values and offsets.
  uint64_t nbytes() const;
  /// One value of one column, sharing this memory.
  Value value(size_t column, int64_t row) const;
  /// One row as a record, sharing this memory.
  Record row(int64_t row) const;
  /// What is wrong with lengths and offsets, if anything is (Internal): for tests, and for bytes that came from outside.
  Status check() const;
};

/// Bytes of one row of a field of known shape.
inline size_t row_bytes(const Field& field) {
  return static_cast<size_t>(field.shape.elements()) * dtype_size(field.dtype);
}
/// A list column: rows of different lengths of one dtype.
inline bool is_ragged(const Field& field) {
  return field.kind == FieldKind::kTensor && field.shape.rank() == 1 && field.shape[0] == Shape::kUnknown;
}

/// Bytes of the rows, and of all of `memory` if any of them lie there.
uint64_t held_bytes(const Columns& rows, const Buffer& memory);

/// Of fields with their types, of all values row by row, and of what is wrong with rows: equal rows hash alike wherever their
/// offsets begin.
Hash128 content_hash(const Columns& columns);

/// A record as one row. Deferred values must have been computed. InvalidArgument for values that a column cannot hold.
Result<Columns> columns_of(const Schema& schema, const Record& record);

}  // namespace forebay
