#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "arrow_codec/flat_leaf.h"
#include "arrow_codec/table_plan.h"
#include "base/columns.h"
#include "forebay/result.h"

namespace forebay {

/// Extracts one field of the table from its flattened leaf. Values are shared where possible; other
/// memory comes from the pool. OutOfBudget if this thread's Allowance does not suffice.
Result<ColumnValues> output_values(const FlatLeaf& flat, const Leaf& leaf, const Output& output);

/// Collects bad rows and their errors. A row keeps its first error. One thread.
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
