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

/// One step on the path from a column to a leaf.
struct PathStep {
  enum class Kind : uint8_t {
    kMember,  ///< a member of a struct
    kList,    ///< elements of a list or map; also of a fixed-size list that has lists or strings in it
    kFixed,   ///< elements of a fixed-size list that is a dimension of a tensor
  };
  Kind kind;
  int child = 0;       ///< for kMember: index of the member
  int64_t length = 0;  ///< for kFixed: length of the list
};

/// One leaf of a column's type tree. Its values have levels. Level 0 is the rows, and each list on
/// the path adds a level. The elements of a tensor form one level, also of tensors in lists. A string
/// counts as a list of its bytes, so the last level of a string leaf is its strings.
struct Leaf {
  std::string name;  ///< "point.x"
  size_t column = 0;
  int number = 0;  ///< index among all leaves of the table, depth first
  std::vector<PathStep> steps;
  std::vector<std::string> structs;       ///< TableFile::Origin::structs
  std::shared_ptr<arrow::DataType> type;  ///< type in the file
  ColumnType own;                         ///< type as which `type` is read by default
  FieldKind kind = FieldKind::kTensor;    ///< kText, kBytes: strings
  DType dtype = DType::kUint8;
  std::optional<TimeType> time;
  bool int96 = false;          ///< Parquet's INT96 timestamps, which overflow in Arrow
  bool in_extension = false;   ///< member of an extension type that is stored as a struct
  bool wanted = false;         ///< named by TableReading::types, so floats may be rounded
  Shape shape;                 ///< shape of a row, or of each element of the innermost list
  int lists = 0;               ///< number of lists on the path, including the string itself
  std::vector<bool> nullable;  ///< by level
  NullFill nulls;
  Status status;  ///< TableFile::field_status()

  ColumnType read_as() const { return {kind, dtype, time}; }
  bool converted() const { return own != read_as(); }
  bool strings() const { return kind != FieldKind::kTensor; }
  /// True if a row holds any number of strings.
  bool string_lists() const { return strings() && lists > 1; }
  int64_t elements() const { return shape.elements(); }
};

/// The part of a leaf that a field of the table holds.
struct Output {
  enum class Role : uint8_t {
    kValues,
    kLengths,     ///< int32 lengths of the lists that are the slots of `level`
    kValid,       ///< true if the row is valid
    kItemsValid,  ///< true for each valid slot of `level`
  };
  size_t leaf;
  Role role = Role::kValues;
  int level = 0;
  bool is_mask() const { return role == Role::kValid || role == Role::kItemsValid; }
};

/// Maps a table's columns to fields. Immutable once made. Columns of the file without a leaf are
/// never read.
struct TablePlan {
  std::vector<Leaf> leaves;
  Schema schema;
  std::vector<Output> outputs;        ///< one per field
  std::vector<size_t> values_fields;  ///< by leaf: field of its values
  std::vector<std::pair<std::string, std::string>> unmapped;
};

/// Implement TableFile::time_type() and TableFile::origin().
std::optional<TimeType> time_type(const TablePlan& plan, size_t field);
TableFile::Origin origin(const TablePlan& plan, size_t field);

/// Plans how to read a table. Unsupported if two columns have the same name. If a column and a
/// struct member have the same name, the column becomes the field and the member goes to
/// `unmapped`.
///
/// A column whose type a batch cannot hold is not an error: it goes to `unmapped` with the reason.
/// A fill value that does not fit, or a requested type that a column cannot be read as, is recorded
/// in Leaf::status.
Result<TablePlan> plan_table(const arrow::Schema& schema, const TableReading& reading);

/// The type as which values of an Arrow type are read. Unsupported, with the reason, if a batch
/// cannot hold them.
Result<ColumnType> leaf_type(const arrow::DataType& type);
/// True if values of `type` can be read as `wanted`; single values may still not fit.
bool readable_as(const arrow::DataType& type, const ColumnType& wanted);
/// The storage type of an extension type; other types are returned unchanged.
std::shared_ptr<arrow::DataType> storage_type(std::shared_ptr<arrow::DataType> type);

}  // namespace forebay
