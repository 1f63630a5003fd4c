#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "format/table/row_filter.h"
#include "format/table/table_data.h"

namespace forebay {

/// One bit per row, however many rows match.
struct FilteredRows {
  std::vector<uint64_t> kept;  ///< bit id % 64 of word id / 64 is set if the row matches
  UndecidedRows undecided;
};

/// Evaluates a filter for every row of a table, once. It uses partition folders first, then the
/// statistics of the groups. Only for groups that these leave undecided does it read the filter's
/// columns, many groups at a time in bounded memory. A null matches nothing. If damaged data leaves
/// rows undecided, they stay in the table and are recorded, so that reading them reports the
/// damage. `masked` holds the files with masks (OpenedTable::masked), one per part.
///
/// Errors: InvalidArgument if values cannot be compared with their columns; the store's error if it
/// cannot be reached.
Result<FilteredRows> filter_rows(const TableData& data, std::span<const std::shared_ptr<const TableFile>> masked,
                                 RowFilter filter, std::stop_token stop);

}  // namespace forebay
