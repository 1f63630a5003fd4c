#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/columns.h"
#include "format/hdf5/data_set.h"
#include "format/hdf5/elements.h"

namespace forebay {

/// What to take from each file: a field and where its values are, "/group/data", "/table.member" or "/data@attribute".
struct Hdf5Field {
  std::string name, path;
};

/// Windows over rows instead of the rows: sample i is the rows from i × stride on.
struct Hdf5Windows {
  int64_t rows = 0, stride = 0;
  int64_t count(int64_t of) const { return of < rows ? 0 : (of - rows) / stride + 1; }
};

/// A field of one file.
struct Hdf5Column {
  enum class From : uint8_t {
    kNumbers,   ///< elements of a data set, or of one member of them
    kText,      ///< texts of fixed length there
    kKept,      ///< values of varying length, which were read when the file was opened
    kConstant,  ///< an attribute: one value for all rows
  };
  From from = From::kNumbers;
  Field field;
  size_t data = 0;      ///< which of the file's data sets
  uint64_t offset = 0;  ///< of a member in its element
  uint64_t each = 1;    ///< numbers, or texts, in an element
  Hdf5Type leaf = {};   ///< of one of them
  Hdf5Numbers numbers = {};
  ColumnValues kept = {};  ///< of kKept: all rows; of kConstant: one
};

/// The data sets and columns that fields of one file come to.
struct Hdf5Columns {
  std::vector<Hdf5DataSet> data;  ///< each once, whoever takes members of it
  std::vector<Hdf5Column> columns;
  int64_t rows = 0;
};

/// Finds all fields and checks that they go together. What is wrong names the field.
Result<Hdf5Columns> resolve_hdf5_fields(Hdf5Metadata& file, const std::vector<Hdf5Field>& fields,
                                        const std::optional<Hdf5Windows>& windows);

}  // namespace forebay
