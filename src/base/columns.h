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
/// | field                         | values                           | offsets                 |
/// |-------------------------------|----------------------------------|-------------------------|
/// | tensor of known shape         | rows × row bytes                 | none                    |
/// | list: rank 1, unknown length  | elements of all rows end to end  | rows + 1, in elements   |
/// | bytes, text                   | all strings end to end           | rows + 1, in bytes      |
/// | lists of bytes or text        | each row's StringList end to end | rows + 1, in bytes      |
///
/// Offsets are int64. They may begin at any number, never decrease, and end within `values`.
struct ColumnValues {
  Buffer values;
  Buffer offsets;

  const int64_t* offset() const { return reinterpret_cast<const int64_t*>(offsets.data()); }
};

/// Many rows of a schema, stored by column. Chunks of tables are decoded to this form, caches hold
/// it, and operators on whole chunks change it. Threads share it once it is made. Its memory may be
/// shared with others, so an operator that changes values allocates new memory.
struct Columns {
  /// Fields of any kind but kAny. Tensors have a known shape, or rank 1 and an unknown length.
  Schema schema;
  int64_t rows = 0;
  std::vector<ColumnValues> values;  ///< one for each field of the schema
  /// Bad rows (a null that is not allowed, …) and the error of each. Their values exist but are
  /// meaningless. Null if there are none.
  std::shared_ptr<const std::map<int64_t, Status>> bad_rows = nullptr;

  /// Bytes of all values and offsets.
  uint64_t nbytes() const;
  /// One value of one column, sharing this memory.
  Value value(size_t column, int64_t row) const;
  /// One row as a record, sharing this memory.
  Record row(int64_t row) const;
  /// Checks lengths and offsets, for tests and for bytes from outside. Internal, with the reason,
  /// if they are inconsistent.
  Status check() const;
};

/// Bytes of one row of a field of known shape.
inline size_t row_bytes(const Field& field) {
  return static_cast<size_t>(field.shape.elements()) * dtype_size(field.dtype);
}
/// Whether the field is a list column: rows of different lengths of one dtype.
inline bool is_ragged(const Field& field) {
  return field.kind == FieldKind::kTensor && field.shape.rank() == 1 && field.shape[0] == Shape::kUnknown;
}

/// Bytes of memory that stay allocated as long as the columns exist: all of `memory` if any column
/// is a view of it, and the columns that are not.
uint64_t retained_bytes(const Columns& rows, const Buffer& memory);

/// Hash of the fields with their types, of all values row by row, and of the errors of bad rows.
/// Equal rows have equal hashes wherever their offsets begin.
Hash128 content_hash(const Columns& columns);

/// Converts a record to columns of one row. Deferred values must have been computed.
/// InvalidArgument for values that a column cannot hold.
Result<Columns> columns_of(const Schema& schema, const Record& record);

}  // namespace forebay
