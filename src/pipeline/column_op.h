#pragma once

#include "base/columns.h"

namespace forebay {

class WorkMemory;

/// An operator on many rows at once. It has the same result as row by row, and draws no random
/// numbers. Any number of threads may run it at once.
class ColumnOp {
 public:
  virtual ~ColumnOp() = default;
  /// Changes the columns from the schema before to the schema after. Memory that columns share is
  /// never written to: what changes gets memory of its own, reserved first. Rows that are bad in
  /// themselves go to `bad_rows`; an error is one of all rows, and leaves the columns unusable.
  virtual Status apply(Columns& columns, WorkMemory& memory) const = 0;
};

}  // namespace forebay
