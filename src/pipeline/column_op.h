#pragma once

#include "base/columns.h"

namespace forebay {

class WorkMemory;

/// An operator on many rows at once, with the same result as its RecordOp row by row. It draws no
/// random numbers. Any number of compute threads may run it at once.
class ColumnOp {
 public:
  virtual ~ColumnOp() = default;
  /// Changes the columns from the schema before to the schema after. Columns may share memory, so
  /// it is never written to: a changed column gets memory of its own, which is reserved first.
  /// Errors of single rows go to Columns::bad_rows. A returned error is that of all rows, and
  /// leaves the columns unusable.
  virtual Status apply(Columns& columns, WorkMemory& memory) const = 0;
};

}  // namespace forebay
