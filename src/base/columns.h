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
/// | ragged: is_ragged()           | items of all rows end to end     | rows + 1, in items      |
/// | bytes, text                   | all strings end to end           | rows + 1, in bytes      |
/// | lists of bytes or text        | each row's StringList end to end | rows + 1, in bytes      |
///
/// An item is one index of the first axis: a number of a list, a box (4,) of boxes (n, 4). Offsets
/// are int64. They may begin at any number, never decrease, and end within `values`.
struct ColumnValues {
  Buffer values;
  Buffer offsets;

  const int64_t* offset() const { return reinterpret_cast<const int64_t*>(offsets.data()); }
};

/// Many rows of a schema, stored by column. Chunks of tables are decoded to this form, caches hold
/// it, and operators on whole chunks change it. Threads share it once it is made. Its memory may be
/// shared with others, so an operator that changes values allocates new memory.
struct Columns {
  /// Fields of any kind but kAny. Tensors have a known shape, or are ragged.
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
/// Whether rows of the field may differ in their first axis, so that columns and batches hold them
/// end to end with offsets. They are numbers of one axis, or of several if all but the first are
/// known, or lists of pictures of one size. A single picture and sound never are, since their axes
/// have another meaning.
bool is_ragged(const Field& field);
/// Whether each row of the field is any number of pictures: (n, height, width, channels), or with
/// the channels before the height.
inline bool is_picture_list(const Field& field) { return field.image && field.shape.rank() == 4; }
/// Bytes that one step of a column's offsets means: those of an item of a ragged field, 1 for
/// strings and for lists of them.
size_t item_bytes(const Field& field);
/// The value of one row of a column whose bytes these are. They are whole items.
Value value_of_row(const Field& field, Buffer bytes);

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
