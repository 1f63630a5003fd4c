#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "format/table/row_filter.h"
#include "format/table/table_data.h"

namespace forebay {

/// A bit a row, whatever was kept.
struct FilteredRows {
  std::vector<uint64_t> kept;  ///< bit id % 64 of word id / 64 says whether a row is
  UndecidedRows undecided;
};

/// Decides a filter for every row of a table, once: by partition folders, then by the statistics of the groups, and only where these
/// leave it open by reading the filter's columns, many groups at a time in bounded memory. A null matches nothing; where damaged
/// data leaves it open, rows are kept and noted, so that whoever reads them is told. `masked`: the tables with masks
/// (OpenedTable::masked), one for each part.
///
/// InvalidArgument where values cannot be compared with their columns; what storage answers where it cannot be reached.
Result<FilteredRows> filter_rows(const TableData& data, std::span<const std::shared_ptr<const TableFile>> masked,
                                 RowFilter filter, std::stop_token stop);

}  // namespace forebay
