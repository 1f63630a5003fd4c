#pragma once

#include "format/hdf5/column.h"

namespace forebay {

/// Limit of the total bytes of one file's values of variable length.
constexpr uint64_t kHdf5MostPreloadedBytes = uint64_t{64} << 20;

/// Reads all values of variable length of a column. They are read when the file is opened, because
/// the place of each value is known only from the values before it. `taken` is the running total of
/// the file. Unsupported, with a remedy, if it exceeds kHdf5MostPreloadedBytes.
Result<ColumnValues> read_hdf5_varying(Hdf5Metadata& file, const Hdf5DataSet& data, const Hdf5Column& column,
                                       uint64_t& taken);

/// Fills in `column` from an attribute: its field, and its value in `preloaded`.
Status hdf5_constant(Hdf5Metadata& file, const Hdf5Attribute& attribute, Hdf5Column& column);

}  // namespace forebay
