#pragma once

#include <cstdint>
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
  /// By list, the outermost first: int64, one per slot of level i for list i plus the end, beginning
  /// at 0. A slot of level i is one list, and its elements are slots of level i + 1. The elements of
  /// a string are its bytes, which have no level.
  std::vector<Buffer> offsets;
  Buffer values;       ///< elements, or the bytes of all strings
  Buffer exact = {};   ///< by element: 0 if its value was lost in a conversion; empty if none was
  bool owned = false;  ///< no other object uses the memory of `values`

  int64_t rows() const { return slots[0]; }
  /// Array of flat.slots[list] + 1 elements.
  const int64_t* offsets_of(size_t list) const { return reinterpret_cast<const int64_t*>(offsets[list].data()); }
};

/// Flattens the whole column of a leaf. A struct with one member may stand for any requested
/// member. Nulls are filled with the leaf's NullFill. `owned` means that no other object uses
/// Arrow's buffers, so their memory may be overwritten.
///
/// The arrays must be valid (arrow::Array::Validate). Corrupt if offsets or indices lead outside of
/// them. OutOfBudget if this thread's Allowance does not suffice; memory is requested before it is
/// allocated.
Result<FlatLeaf> flatten(const std::shared_ptr<arrow::Array>& column, const Leaf& leaf, bool owned);

/// Concatenates the rows of all parts of one leaf. Always copies; `parts` must not be empty.
/// OutOfBudget as above.
Result<FlatLeaf> join(const std::vector<FlatLeaf>& parts);

}  // namespace forebay
