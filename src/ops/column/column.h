#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/args.h"

// Functions and classes shared by column operators.

namespace forebay {

/// The required argument `field`: a column or a list of columns.
ArgDef column_arg(std::string help, ArgForm form = ArgForm::kPlain);

/// Kinds of columns that an operator accepts.
enum class ColumnNeed : uint8_t {
  kNumbers,         ///< numbers: scalars, tensors or ragged rows
  kNumbersAndBool,  ///< numbers and bool
  kKeys,            ///< values for a look-up: integers, bool, bytes and text
};

/// Returns the schema indices of the named fields. Adds a problem, with field and type, for each
/// field that is missing, named twice, or of a kind that the operator does not accept. Fields of
/// unknown kind (kAny) pass.
std::vector<size_t> check_columns(const std::vector<std::string>& names, ColumnNeed need, std::string_view op,
                                  const Schema& schema, Problems& problems);

/// Index of a named field. Unsupported if check_columns() would not accept it, because user code
/// may have made it.
Result<size_t> find_column(const Columns& columns, const std::string& name, ColumnNeed need);

/// Elements of a tensor column end to end, regardless of rows and of items.
struct Elements {
  const uint8_t* data = nullptr;
  int64_t count = 0;
};
/// A view into the column, valid as long as the column lives.
Elements elements(const Columns& columns, size_t field);

/// Bytes that new_column() allocates.
uint64_t new_column_bytes(const Columns& columns, size_t field, DType dtype);
/// Makes a column for the same rows with elements of `dtype`: as many as the field has, or one per
/// row if the field is bytes or text. The caller writes its values from the beginning.
ColumnValues new_column(const Columns& columns, size_t field, DType dtype);
/// Replaces the field by such a column.
void replace_column(Columns& columns, size_t field, ColumnValues made, DType dtype);

/// Rows that are bad, with the error of each.
using BadRows = std::map<int64_t, Status>;
/// Adds to Columns::bad_rows. A row that is already bad keeps its first error.
void mark_bad(Columns& columns, BadRows bad);

/// Computes new elements for some columns, one from each old one. Immutable: many threads use it at
/// the same time, each on its own chunk. Memory for the results is reserved before any is
/// allocated. Input columns are never written to, because they may be shared.
class ElementwiseOp : public ColumnOp {
 public:
  ElementwiseOp(std::vector<std::string> fields, ColumnNeed need) : fields_(std::move(fields)), need_(need) {}
  Status apply(Columns& columns, WorkMemory& memory) const final;

 protected:
  /// The type of the new elements of this field, or nothing if the field stays unchanged.
  virtual std::optional<DType> output_dtype(const Field& field) const = 0;
  /// Checks the operator's arguments against a field as infer() does. apply() calls it because
  /// infer() could not check fields of unknown type.
  virtual Status check_field(const Field& /*field*/) const { return {}; }
  /// Writes the new elements to `out`. `number` is the field's number among the operator's fields.
  virtual void make(size_t number, const Columns& columns, size_t field, uint8_t* out) const = 0;
  /// Rows whose elements cannot be converted. make() writes some value for them as well.
  virtual BadRows bad_rows(const Columns& /*columns*/, size_t /*field*/) const { return {}; }

 private:
  std::vector<std::string> fields_;
  ColumnNeed need_;
};

}  // namespace forebay
