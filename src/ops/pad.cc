#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/args.h"
#include "ops/registry.h"

namespace forebay {
namespace {

Status too_long(const std::string& name, int64_t length, int64_t allowed) {
  return unsupported(
      fmt::format("the field '{}' has {} elements, more than length={}; give a longer length, or cut it in .map", name,
                  length, allowed));
}

// The batch does the padding, since only it knows the longest row; here a row that does not fit is noticed.
class Pad final : public RecordOp {
 public:
  Pad(size_t field, std::string name, int64_t length) : field_(field), name_(std::move(name)), length_(length) {}

  Status apply(Record& record, const SampleContext&) const override {
    const Value& value = record[field_];
    const bool row = value.kind == FieldKind::kTensor && value.shape().rank() == 1;
    if (!row) return unsupported(fmt::format("the field '{}' is not a row of numbers", name_));
    const int64_t length = value.shape()[0];
    if (length_ == 0 || length <= length_) return {};
    return too_long(name_, length, length_);
  }

 private:
  size_t field_;
  std::string name_;
  int64_t length_;
};

class PadColumns final : public ColumnOp {
 public:
  PadColumns(std::string name, double value, int64_t length) : name_(std::move(name)), value_(value), length_(length) {}

  Status apply(Columns& columns, WorkMemory&) const override {
    const auto index = columns.schema.find(name_);
    if (!index) return unsupported(fmt::format("there is no field '{}' here", name_));
    Field& field = columns.schema[*index];
    if (length_ > 0) mark_longer(columns, field, columns.values[*index]);
    field.pad_value = value_;
    field.pad_length = length_;
    return {};
  }

 private:
  void mark_longer(Columns& columns, const Field& field, const ColumnValues& column) const {
    if (!is_ragged(field)) return;
    std::map<int64_t, Status> bad;
    for (int64_t row = 0; row < columns.rows; ++row) {
      const int64_t length = column.offset()[row + 1] - column.offset()[row];
      if (length > length_) bad.emplace(row, too_long(name_, length, length_).with_operator("pad"));
    }
    if (bad.empty()) return;
    // What was wrong before stays what is told.
    auto all = columns.bad_rows ? *columns.bad_rows : std::map<int64_t, Status>();
    all.merge(bad);
    columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(std::move(all));
  }

  std::string name_;
  double value_;
  int64_t length_;
};

bool holds(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kFloat32:
    case DType::kFloat64: return true;
    case DType::kBool: return value == 0 || value == 1;
    default: break;
  }
  const int bits = static_cast<int>(dtype_size(dtype)) * 8;
  const bool is_signed =
      dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 || dtype == DType::kInt64;
  const double above = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  return value == std::floor(value) && value < above && value >= (is_signed ? -above : 0.0);
}

void infer(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<std::string> names = args.names("field");
  const std::vector<size_t> found = check_fields(names, schema, problems);
  const int64_t length = args.has("length") ? args.integer("length") : 0;
  if (args.has("length") && length < 1)
    problems.add(fmt::format("length is {}", length), "give a length of at least 1");
  if (found.empty()) return;
  Field& field = schema[found[0]];
  const bool row = field.kind == FieldKind::kAny || (field.kind == FieldKind::kTensor && field.shape.rank() == 1);
  if (!row) {
    return problems.add(fmt::format("the field is no row of numbers: {}", field.to_string()),
                        "pad fields with one axis");
  }
  const double value = args.number("value");
  if (field.kind == FieldKind::kTensor && !holds(field.dtype, value)) {
    problems.add(fmt::format("a {} cannot hold the value {}", dtype_name(field.dtype), value),
                 "give another value, or .cast before");
  }
  if (field.kind == FieldKind::kTensor && field.shape[0] != Shape::kUnknown && length > 0 && field.shape[0] > length) {
    problems.add(fmt::format("the field '{}' has {} elements, more than length={}", field.name, field.shape[0], length),
                 "give a longer length");
  }
  field.pad_value = value;
  field.pad_length = std::max<int64_t>(length, 0);
}

Result<std::unique_ptr<RecordOp>> compile(const Args& args, const Schema& before, uint32_t) {
  const std::string name = args.text("field");
  return std::unique_ptr<RecordOp>(
      std::make_unique<Pad>(*before.find(name), name, args.has("length") ? args.integer("length") : 0));
}

Result<std::unique_ptr<ColumnOp>> compile_columns(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<PadColumns>(args.text("field"), args.number("value"),
                                                                args.has("length") ? args.integer("length") : 0));
}

}  // namespace

OpDef pad_op() {
  return make_op({.name = "pad",
                  .help = "Fills rows of different lengths up, so that a batch of them has one shape.",
                  .args = {{"field", ArgType::kText, true, nullptr, "a field with one axis"},
                           {"value", ArgType::kFloat, true, nullptr, "what to fill up with"},
                           {"length", ArgType::kInt, false, nullptr,
                            "the length to reach; the longest of the batch if not given"}},
                  .random = false,
                  .infer = infer,
                  .compile = compile,
                  .compile_columns = compile_columns});
}

}  // namespace forebay
