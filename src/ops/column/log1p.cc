#include <utility>

#include "ops/column/column.h"
#include "ops/column/log1p_values.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

DType made_dtype(DType from) { return from == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }

class Log1p final : public ElementwiseOp {
 public:
  explicit Log1p(std::vector<std::string> fields) : ElementwiseOp(std::move(fields), ColumnNeed::kNumbers) {}

 private:
  std::optional<DType> output_dtype(const Field& field) const override { return made_dtype(field.dtype); }
  void make(size_t, const Columns& columns, size_t field, uint8_t* out) const override {
    const Elements in = elements(columns, field);
    log1p_values(columns.schema[field].dtype, in.data, out, in.count);
  }
};

void infer_log1p(const Args& args, Schema& schema, Problems& problems) {
  for (const size_t index : check_columns(args.names("field"), ColumnNeed::kNumbers, "log1p", schema, problems))
    schema[index].dtype = made_dtype(schema[index].dtype);
}

Result<std::unique_ptr<ColumnOp>> compile_log1p(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<Log1p>(args.names("field")));
}

}  // namespace

OpDef log1p_op() {
  return make_op(
      {.name = "log1p",
       .group = OpGroup::kColumn,
       .help = R"(`ln(1 + x)`: float64 of float64, else float32; NaN below -1, -inf for -1.

Made of additions, multiplications and divisions alone, so that every processor gives the same bits: within 1 unit in the last place of the
true value as float32, within 2 as float64. Integers above 2^53 are rounded to float64 before.)",
       .args = {column_arg("a column of numbers or a list of columns; lists and tensors go element by element")},
       .infer = infer_log1p,
       .compile_columns = compile_log1p,
       .each = true,
       .sizes = SizeEffect::kSame});
}

}  // namespace forebay
