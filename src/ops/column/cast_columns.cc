#include "ops/column/cast_columns.h"

#include <utility>

#include "ops/column/column.h"
#include "ops/image/cast_elements.h"

namespace forebay {
namespace {

class CastColumns final : public ElementwiseOp {
 public:
  CastColumns(std::vector<std::string> fields, DType dtype)
      : ElementwiseOp(std::move(fields), ColumnNeed::kNumbersAndBool), dtype_(dtype) {}

 private:
  std::optional<DType> made_of(const Field& field) const override {
    return field.dtype == dtype_ ? std::nullopt : std::optional(dtype_);
  }
  void make(size_t, const Columns& columns, size_t field, uint8_t* out) const override {
    const Elements in = elements(columns, field);
    cast_elements(columns.schema[field].dtype, in.data, dtype_, out, in.count, Rounding::kTowardZero);
  }

  DType dtype_;
};

}  // namespace

std::unique_ptr<ColumnOp> cast_columns(std::vector<std::string> fields, DType dtype) {
  return std::make_unique<CastColumns>(std::move(fields), dtype);
}

}  // namespace forebay
