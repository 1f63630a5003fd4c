#pragma once

#include "format/hdf5/column.h"

namespace forebay {

/// The most bytes that values of varying length of one file may have together.
constexpr uint64_t kHdf5MostKeptBytes = uint64_t{64} << 20;

/// All values of varying length of a column: where each lies in the file only the values before it say, so that they are read when the file is
/// opened. Unsupported, with the way out, where they have more than kHdf5MostKeptBytes with those before (`taken`).
Result<ColumnValues> read_hdf5_varying(Hdf5Metadata& file, const Hdf5DataSet& data, const Hdf5Column& column,
                                       uint64_t& taken);

/// Makes a column of an attribute: its field, and the one value in `kept`.
Status hdf5_constant(Hdf5Metadata& file, const Hdf5Attribute& attribute, Hdf5Column& column);

}  // namespace forebay
