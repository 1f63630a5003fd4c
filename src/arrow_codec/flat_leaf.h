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

/// A leaf of a column with its nesting flattened: the values end to end, and for each level (see
/// Leaf) the validity of its slots and the offsets of its lists.
struct FlatLeaf {
  std::vector<int64_t> slots;  ///< number of slots by level
  std::vector<Buffer> valid;   ///< by level: one byte (0 or 1) per slot; empty if all are valid
  /// By list: int64, one per slot of its level plus the end, beginning at 0.
  std::vector<Buffer> offsets;
  Buffer values;       ///< elements, or the bytes of all strings
  Buffer exact = {};   ///< by element: 0 if its value was lost in a conversion; empty if none was
  bool owned = false;  ///< no other object uses the memory of `values`

  int64_t rows() const { return slots[0]; }
  const int64_t* offset(size_t list) const { return reinterpret_cast<const int64_t*>(offsets[list].data()); }
};

/// Flattens the whole column of a leaf. A struct with one member may stand for any requested
/// member. Nulls are filled with the leaf's NullFill. `owned` means that no other object uses
/// Arrow's buffers, so their memory may be overwritten.
///
/// The arrays must be valid (arrow::Array::Validate). Corrupt if offsets or indices lead outside of
/// them. OutOfBudget if this thread's Allowance does not suffice; memory is requested before it is
/// allocated.
Result<FlatLeaf> flatten(const std::shared_ptr<arrow::Array>& column, const Leaf& leaf, bool owned);

/// Concatenates the rows of all parts. Copies, unless there is only one part.
Result<FlatLeaf> join(const std::vector<FlatLeaf>& parts);

/// Extracts one field of the table.
Result<ColumnValues> output_values(const FlatLeaf& flat, const Leaf& leaf, const Output& output);

/// Collects bad rows and their errors. A row keeps its first error.
class BadRowCollector {
 public:
  /// Reserves memory for at most `count` further rows. It is requested at once and in growing
  /// steps, because each refusal costs a decode.
  Status reserve(size_t count);
  void add(int64_t row, const Status& reason) { rows_.try_emplace(row, reason); }
  /// Null if there are no bad rows.
  std::shared_ptr<const std::map<int64_t, Status>> take() &&;

 private:
  std::map<int64_t, Status> rows_;
  uint64_t charged_ = 0;  ///< number of rows that memory was requested for
};

/// Adds the rows with a null at any level.
Status note_nulls(const FlatLeaf& flat, const Leaf& leaf, BadRowCollector& bad);
/// Adds the rows with text that is not UTF-8.
Status note_bad_text(const FlatLeaf& flat, const Leaf& leaf, BadRowCollector& bad);
/// Adds the rows with a value that the leaf's type cannot hold.
Status note_lost(const FlatLeaf& flat, const Leaf& leaf, BadRowCollector& bad);

}  // namespace forebay
