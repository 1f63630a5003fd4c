#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/args.h"

// What column operators share.

namespace forebay {

/// The argument `field`: a column or a list of them, without a default.
ArgDef column_arg(std::string help, ArgForm form = ArgForm::kPlain);

/// What a column may hold for an operator to work on it.
enum class ColumnNeed : uint8_t {
  kNumbers,         ///< numbers, alone, in tensors or in lists
  kNumbersAndBool,  ///< and bool
  kKeys,            ///< what can be looked up: integers, bool, bytes and text
};

/// The places in the schema of the fields named; a problem, with field and type, for each that is not there, is named twice or is of
/// no kind that the operator knows. Fields that nobody knows yet (kAny) pass.
std::vector<size_t> check_columns(const std::vector<std::string>& names, ColumnNeed need, std::string_view op,
                                  const Schema& schema, Problems& problems);

/// The place of a named field. Unsupported where it is not what check_columns() lets pass: user code may have made it.
Result<size_t> find_column(const Columns& columns, const std::string& name, ColumnNeed need);

/// Elements of a tensor column end to end, whatever rows they belong to.
struct Elements {
  const uint8_t* data = nullptr;
  int64_t count = 0;
};
/// A view; it lives as long as the column.
Elements elements(const Columns& columns, size_t field);

/// Bytes that new_column() takes.
uint64_t new_column_bytes(const Columns& columns, size_t field, DType dtype);
/// A column of the same rows for elements of `dtype`, as many as the field has; one in each row where the field is bytes or text. Its
/// values are to be written from the beginning.
ColumnValues new_column(const Columns& columns, size_t field, DType dtype);
/// Puts such a column in the place of the field.
void replace_column(Columns& columns, size_t field, ColumnValues made, DType dtype);

/// Rows that are bad in themselves, and what is wrong with each.
using BadRows = std::map<int64_t, Status>;
/// Adds to Columns::bad_rows. What was wrong before stays what is told.
void mark_bad(Columns& columns, BadRows bad);

/// Makes each element of some columns anew.
/// Immutable: chunks are computed by many threads at once. Memory for what is made is reserved before any of it is taken, and what comes in is
/// never written to, since others may share it.
class ElementwiseOp : public ColumnOp {
 public:
  ElementwiseOp(std::vector<std::string> fields, ColumnNeed need) : fields_(std::move(fields)), need_(need) {}
  Status apply(Columns& columns, WorkMemory& memory) const final;

 protected:
  /// The type of what is made of this field, or nothing where the field stays as it is.
  virtual std::optional<DType> made_of(const Field& field) const = 0;
  /// What infer() says of the operator's arguments and such a field: asked again for fields whose type was not known then.
  virtual Status suits(const Field& /*field*/) const { return {}; }
  /// Writes them. `place` counts the fields given.
  virtual void make(size_t place, const Columns& columns, size_t field, uint8_t* out) const = 0;
  /// Rows whose elements it cannot make anew. make() writes something for them too.
  virtual BadRows bad_rows(const Columns& /*columns*/, size_t /*field*/) const { return {}; }

 private:
  std::vector<std::string> fields_;
  ColumnNeed need_;
};

}  // namespace forebay
