#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/columns.h"
#include "format/hdf5/data_set.h"
#include "format/hdf5/elements.h"

namespace forebay {

/// A field to read from each file. `path` is a data set, a member of its elements, or an attribute:
/// "/group/data", "/table.member" or "/data@attribute".
struct Hdf5Field {
  std::string name, path;
};

/// Sliding windows over rows: sample i consists of `rows` rows from row i × stride on.
struct Hdf5Windows {
  int64_t rows = 0, stride = 0;
  int64_t count(int64_t of) const { return of < rows ? 0 : (of - rows) / stride + 1; }
};

/// A field of one file.
struct Hdf5Column {
  enum class From : uint8_t {
    kNumbers,    ///< elements of a data set, or one member of them
    kText,       ///< texts of fixed length in the same places
    kPreloaded,  ///< values of variable length, read when the file was opened
    kConstant,   ///< an attribute: one value for all rows
  };
  From from = From::kNumbers;
  Field field;
  size_t data = 0;                   ///< index of the data set in Hdf5Columns::data
  uint64_t offset = 0;               ///< offset of the member in its element
  uint64_t numbers_per_element = 1;  ///< 1 for texts
  Hdf5Type leaf = {};                ///< type of one number or text
  Hdf5Numbers numbers = {};
  ColumnValues preloaded = {};  ///< values of all rows for kPreloaded; the one value for kConstant
};

/// The data sets and columns that the fields of one file refer to.
struct Hdf5Columns {
  std::vector<Hdf5DataSet> data;  ///< without duplicates, even if several fields use members of one
  std::vector<Hdf5Column> columns;
  int64_t rows = 0;
};

/// Resolves all fields and checks that they have the same number of rows. Errors name the field.
Result<Hdf5Columns> resolve_hdf5_fields(Hdf5Metadata& file, const std::vector<Hdf5Field>& fields,
                                        const std::optional<Hdf5Windows>& windows);

}  // namespace forebay
