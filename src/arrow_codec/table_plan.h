#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "base/column_type.h"
#include "base/null_fill.h"
#include "base/schema.h"
#include "base/table_codec.h"
#include "forebay/result.h"

namespace forebay {

/// One step from a column towards a leaf.
struct PathStep {
  enum class Kind : uint8_t {
    kMember,  ///< a member of a struct
    kList,    ///< elements of a list or map; fixed-size lists, too, where the column is ragged
    kFixed,   ///< elements of a fixed-size list that is a dimension of a tensor
  };
  Kind kind;
  int child = 0;       ///< kMember: which
  int64_t length = 0;  ///< kFixed
};

/// One leaf of a column's type tree. Its values have levels: level 0 are rows; each list on the way adds one; a tensor's elements
/// are one; and a string is a list of its bytes, so its last level are strings.
struct Leaf {
  std::string name;  ///< "point.x"
  size_t column = 0;
  int number = 0;  ///< among all leaves of the table, depth first
  std::vector<PathStep> steps;
  std::vector<std::string> structs;       ///< TableFile::Origin::structs
  std::shared_ptr<arrow::DataType> type;  ///< of the file
  ColumnType own;                         ///< what `type` is read as if nothing else is wanted
  FieldKind kind = FieldKind::kTensor;    ///< kText, kBytes: strings
  DType dtype = DType::kUint8;
  std::optional<TimeType> time;
  bool int96 = false;          ///< Parquet's INT96 timestamps, which Arrow lets wrap around
  bool in_extension = false;   ///< of an extension type that is stored as a struct
  bool wanted = false;         ///< TableReading::types names it, so floats may be rounded
  Shape shape;                 ///< of a row, where no list is on the way
  int lists = 0;               ///< on the way, the string itself included
  std::vector<bool> nullable;  ///< by level
  NullFill nulls;
  Status status;  ///< TableFile::field_status()

  ColumnType read_as() const { return {kind, dtype, time}; }
  bool converted() const { return own != read_as(); }
  bool strings() const { return kind != FieldKind::kTensor; }
  /// Rows hold any number of strings.
  bool string_lists() const { return strings() && lists > 1; }
  int64_t elements() const { return shape.elements(); }
};

/// What a field of the table holds of its leaf.
struct Output {
  enum class Role : uint8_t {
    kValues,
    kLengths,     ///< int32 lengths of the lists that are the slots of `level`
    kValid,       ///< whether the row is there
    kItemsValid,  ///< whether each slot of `level` is there
  };
  size_t leaf;
  Role role = Role::kValues;
  int level = 0;
  bool is_mask() const { return role == Role::kValid || role == Role::kItemsValid; }
};

/// A table's columns as fields.
/// Immutable once made. Columns of the file that no leaf comes from are never read.
struct TablePlan {
  std::vector<Leaf> leaves;
  Schema schema;
  std::vector<Output> outputs;        ///< one for each field
  std::vector<size_t> values_fields;  ///< by leaf: the field of its values
  std::vector<std::pair<std::string, std::string>> unmapped;
};

/// TableFile::time_type(), TableFile::origin().
std::optional<TimeType> time_type(const TablePlan& plan, size_t field);
TableFile::Origin origin(const TablePlan& plan, size_t field);

/// Of a column and a member of a struct that come to one name, the column is the field and the member is in `unmapped`.
/// Unsupported where two columns come to one name.
/// A column of a type that has no place in a batch is no error here: it is in `unmapped`, with the reason. A value for nulls that does
/// not fit, and a type that a column cannot be read as, are in Leaf::status.
Result<TablePlan> plan_table(const arrow::Schema& schema, const TableReading& reading);

/// What values of that type are read as. Unsupported, with the reason, for those that have no place in a batch.
Result<ColumnType> leaf_type(const arrow::DataType& type);
/// Whether values of `type` can be read as `wanted`; single values may still be lost.
bool readable_as(const arrow::DataType& type, const ColumnType& wanted);
/// The type behind extension types.
std::shared_ptr<arrow::DataType> storage_type(std::shared_ptr<arrow::DataType> type);

}  // namespace forebay
