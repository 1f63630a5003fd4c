#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "arrow_codec/table_plan.h"
#include "base/columns.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// A leaf of a column with its nesting taken apart: values end to end, and for each level (see Leaf) which slots are there and where
/// the lists in them lie.
struct FlatLeaf {
  std::vector<int64_t> slots;   ///< by level
  std::vector<Buffer> valid;    ///< by level: a byte (0 or 1) for each slot; empty where all are there
  std::vector<Buffer> offsets;  ///< by list: int64, one for each slot of its level and the end, from 0 on
  Buffer values;                ///< elements, or the bytes of all strings
  Buffer exact = {};            ///< by element: 0 where a value was lost in a conversion; empty where none was
  bool owned = false;           ///< nobody else sees the memory of `values`

  int64_t rows() const { return slots[0]; }
  const int64_t* offset(size_t list) const { return reinterpret_cast<const int64_t*>(offsets[list].data()); }
};

/// `column` is the leaf's whole column: a struct with one member may stand for any member that was asked for. Nulls are filled with
/// the leaf's NullFill. `owned`: nobody else sees Arrow's buffers, so their memory may be written to. Corrupt where offsets and
/// indices lead outside of the arrays; those must be valid in themselves (arrow::Array::Validate).
/// OutOfBudget where this thread's Allowance does not reach; asked for before it is taken.
Result<FlatLeaf> flatten(const std::shared_ptr<arrow::Array>& column, const Leaf& leaf, bool owned);

/// Rows of the one behind rows of the other.
/// Copies, unless there is only one.
Result<FlatLeaf> join(const std::vector<FlatLeaf>& parts);

/// One field of the table.
Result<ColumnValues> output_values(const FlatLeaf& flat, const Leaf& leaf, const Output& output);

/// Rows that are bad in themselves, with their reasons. The first reason of a row stays.
class BadRows {
 public:
  /// `count` further rows at most. Memory for them is asked for at once, since each refusal costs a decode, and in growing steps.
  Status expect(size_t count);
  void add(int64_t row, const Status& reason) { rows_.try_emplace(row, reason); }
  /// Null if there are none.
  std::shared_ptr<const std::map<int64_t, Status>> take() &&;

 private:
  std::map<int64_t, Status> rows_;
  uint64_t charged_ = 0;  ///< rows
};

/// Rows with a null at any level.
Status note_nulls(const FlatLeaf& flat, const Leaf& leaf, BadRows& bad);
/// Rows of text that is not UTF-8.
Status note_bad_text(const FlatLeaf& flat, const Leaf& leaf, BadRows& bad);
/// Rows with a value that the leaf's type does not hold.
Status note_lost(const FlatLeaf& flat, const Leaf& leaf, BadRows& bad);

}  // namespace forebay
