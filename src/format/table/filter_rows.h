#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "format/table/row_filter.h"
#include "format/table/table_data.h"

namespace forebay {

/// Decides a filter for every row of a table, once: by partition folders, then by the statistics of the groups, and only where these
/// leave it open by reading the filter's columns, many groups at a time in bounded memory. Bit id % 64 of word id / 64 says whether a
/// row is kept; a null matches nothing; a row that is bad in itself in one of the filter's columns is kept, so that whoever reads it
/// is told. `masked`: the tables with masks (OpenedTable::masked), one for each part.
///
/// InvalidArgument where values cannot be compared with their columns.
Result<std::vector<uint64_t>> filter_rows(const TableData& data,
                                          std::span<const std::shared_ptr<const TableFile>> masked, RowFilter filter,
                                          std::stop_token stop);

}  // namespace forebay
