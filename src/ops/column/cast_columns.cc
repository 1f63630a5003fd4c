#include "ops/column/cast_columns.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ops/column/column.h"
#include "ops/image/cast_elements.h"
#include "ops/image/unrepresentable_elements.h"

namespace forebay {
namespace {

/// Element ranges of rows, relative to the first element of the column.
class RowElements {
 public:
  RowElements(const Columns& columns, size_t field) : rows_(columns.rows) {
    const Field& is = columns.schema[field];
    if (is.fixed_shape()) {
      each_ = is.shape.elements();
    } else {
      offsets_ = columns.values[field].offset();
      each_ = static_cast<int64_t>(item_bytes(is) / dtype_size(is.dtype));
    }
  }
  int64_t begin(int64_t row) const { return (offsets_ == nullptr ? row : offsets_[row] - offsets_[0]) * each_; }
  int64_t row_of(int64_t element) const {
    const int64_t item = element / each_;
    if (offsets_ == nullptr) return item;
    return std::upper_bound(offsets_, offsets_ + rows_ + 1, offsets_[0] + item) - offsets_ - 1;
  }

 private:
  int64_t rows_, each_ = 0;  // each_: elements of a row, or of an item of a ragged row
  const int64_t* offsets_ = nullptr;
};

class CastColumns final : public ElementwiseOp {
 public:
  CastColumns(std::vector<std::string> fields, DType dtype, bool saturates)
      : ElementwiseOp(std::move(fields), ColumnNeed::kNumbersAndBool), dtype_(dtype), saturates_(saturates) {}

 private:
  std::optional<DType> output_dtype(const Field& field) const override {
    return field.dtype == dtype_ ? std::nullopt : std::optional(dtype_);
  }
  void make(size_t, const Columns& columns, size_t field, uint8_t* out) const override {
    const Elements in = elements(columns, field);
    cast_elements(columns.schema[field].dtype, in.data, dtype_, out, in.count, Rounding::kTowardZero);
  }
  BadRows bad_rows(const Columns& columns, size_t field) const override {
    BadRows bad;
    if (saturates_) return bad;
    const Field& is = columns.schema[field];
    const Elements in = elements(columns, field);
    const RowElements rows(columns, field);
    for (int64_t begin = 0; begin < in.count;) {
      const uint8_t* rest = in.data + begin * static_cast<int64_t>(dtype_size(is.dtype));
      const auto unfit = first_unrepresentable(is.dtype, rest, dtype_, in.count - begin, Rounding::kTowardZero);
      if (!unfit) break;
      const int64_t row = rows.row_of(begin + *unfit), first = rows.begin(row);
      const uint8_t* of_row = in.data + first * static_cast<int64_t>(dtype_size(is.dtype));
      const std::string what =
          describe_unrepresentable(is.dtype, of_row, dtype_, begin + *unfit - first, is.shape.rank() == 0);
      bad.emplace(row, cast_range_error(is.name, what).with_operator("cast"));
      // Only one element of each row is reported, so the rest of the row is skipped.
      begin = rows.begin(row + 1);
    }
    return bad;
  }

  DType dtype_;
  bool saturates_;
};

}  // namespace

std::unique_ptr<ColumnOp> cast_columns(std::vector<std::string> fields, DType dtype, bool saturates) {
  return std::make_unique<CastColumns>(std::move(fields), dtype, saturates);
}

Status cast_range_error(std::string_view field, std::string_view what) {
  return unsupported(
      fmt::format("the field '{}' has {}; cast to a type that holds it, put .clip before, or give .cast "
                  "errors=\"saturate\"",
                  field, what));
}

}  // namespace forebay
