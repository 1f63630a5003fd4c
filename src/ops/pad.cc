#include <cstring>

#include <fmt/format.h>

#include "base/can_hold.h"
#include "base/columns.h"
#include "base/convert.h"
#include "ops/column/column.h"
#include "ops/definition/args.h"
#include "ops/definition/number_or_word.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

// Limit of elements per row. With every type the bytes of a row stay far below 64 bits.
constexpr int64_t kLongestRow = INT32_MAX;

Status too_long(const std::string& name, int64_t length, int64_t allowed) {
  return unsupported(
      fmt::format("the field '{}' has {} elements, more than length={}; give a longer length, or cut it in .map", name,
                  length, allowed));
}

// The batch does the padding, because only it knows the longest row. This operator detects rows
// that do not fit.
class Pad final : public RecordOp {
 public:
  Pad(size_t field, std::string name, double value, int64_t length)
      : field_(field), name_(std::move(name)), value_(value), length_(length) {}

  Status apply(Record& record, const SampleContext&) const override {
    const Value& value = record[field_];
    const bool row = value.kind == FieldKind::kTensor && value.shape().rank() > 0;
    if (!row) return unsupported(fmt::format("the field '{}' is not a row of numbers", name_));
    if (!can_hold(value.dtype(), value_))
      return invalid_argument(
          fmt::format("the field '{}' is {}, which cannot hold the value {}; give another value, or "
                      ".cast before",
                      name_, dtype_name(value.dtype()), value_));
    const int64_t length = value.shape()[0];
    if (length_ == 0 || length <= length_) return {};
    return too_long(name_, length, length_);
  }

 private:
  size_t field_;
  std::string name_;
  double value_;
  int64_t length_;
};

Shape longer(Shape shape, int64_t length) {
  shape[0] = std::max(shape[0], length);
  return shape;
}

// Rows of one known shape are padded at once, so their shape is known again.
void fill_rows(const uint8_t* from, int64_t rows, const Shape& had, const Shape& made, DType dtype, double value,
               uint8_t* to) {
  const size_t element = dtype_size(dtype), bytes = static_cast<size_t>(had.elements()) * element;
  for (int64_t row = 0; row < rows; ++row, from += bytes, to += static_cast<size_t>(made.elements()) * element) {
    // Empty rows may have no memory to copy from.
    if (bytes > 0) std::memcpy(to, from, bytes);
    fill(dtype, value, to + bytes, static_cast<size_t>(made.elements() - had.elements()));
  }
}

class PadKnown final : public RecordOp {
 public:
  PadKnown(size_t field, double value, int64_t length) : field_(field), value_(value), length_(length) {}

  Status apply(Record& record, const SampleContext& context) const override {
    Value& value = record[field_];
    if (length_ <= value.shape()[0]) return {};
    FOREBAY_RETURN_IF_ERROR(value.materialize(*context.memory));
    const DType dtype = value.dtype();
    const Shape had = value.shape(), shape = longer(had, length_);
    FOREBAY_RETURN_IF_ERROR(context.memory->reserve(static_cast<uint64_t>(shape.elements()) * dtype_size(dtype)));
    Tensor made = Tensor::allocate(dtype, shape);
    fill_rows(value.tensor.buffer.data(), 1, had, shape, dtype, value_, made.buffer.data());
    value = Value::of(std::move(made));
    return {};
  }

 private:
  size_t field_;
  double value_;
  int64_t length_;
};

class PadColumns final : public ColumnOp {
 public:
  PadColumns(std::string name, double value, int64_t length) : name_(std::move(name)), value_(value), length_(length) {}

  Status apply(Columns& columns, WorkMemory& memory) const override {
    const auto index = columns.schema.find(name_);
    if (!index) return unsupported(fmt::format("there is no field '{}' here", name_));
    Field& field = columns.schema[*index];
    if (field.fixed_shape()) return fill_up(columns, *index, memory);
    if (length_ > 0) mark_longer(columns, field, columns.values[*index]);
    field.pad_value = value_;
    field.pad_length = length_;
    return {};
  }

 private:
  Status fill_up(Columns& columns, size_t index, WorkMemory& memory) const {
    Field& field = columns.schema[index];
    if (length_ <= field.shape[0]) return {};
    const Shape shape = longer(field.shape, length_);
    const uint64_t bytes = static_cast<uint64_t>(columns.rows * shape.elements()) * dtype_size(field.dtype);
    FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes));
    ColumnValues made{Buffer::allocate(bytes), {}};
    fill_rows(columns.values[index].values.data(), columns.rows, field.shape, shape, field.dtype, value_,
              made.values.data());
    columns.values[index] = std::move(made);
    field.shape = shape;
    return {};
  }

  void mark_longer(Columns& columns, const Field& field, const ColumnValues& column) const {
    if (!is_ragged(field)) return;
    BadRows bad;
    for (int64_t row = 0; row < columns.rows; ++row) {
      const int64_t length = column.offset()[row + 1] - column.offset()[row];
      if (length > length_) bad.emplace(row, too_long(name_, length, length_).with_operator("pad"));
    }
    mark_bad(columns, std::move(bad));
  }

  std::string name_;
  double value_;
  int64_t length_;
};

void infer_pad(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<std::string> names = args.names("field");
  const std::vector<size_t> found = check_fields(names, schema, problems);
  const int64_t length = args.has("length") ? args.integer("length") : 0;
  if (args.has("length") && length < 1)
    problems.add(fmt::format("length is {}", length), "give a length of at least 1");
  if (length > kLongestRow)
    return problems.add(fmt::format("length is {}", length), fmt::format("give a length of at most {}", kLongestRow));
  if (found.empty()) return;
  Field& field = schema[found[0]];
  const bool row = field.kind == FieldKind::kAny || is_ragged(field) ||
                   (field.fixed_shape() && field.shape.rank() > 0 && !field.image && field.sound == SoundForm::kNone) ||
                   (field.kind == FieldKind::kTensor && field.shape.rank() == 1);
  if (!row) {
    return problems.add(
        fmt::format("the field has no rows of numbers whose first axis alone differs: {}", field.to_string()),
        field.string_list() ? string_list_remedy(field, "pad")
                            : "pad fields of which all axes but the first are known; crop or resize pictures, decode "
                              "lists of them with .decode_image(lists=True), and use .pad_or_crop(seconds) for sound");
  }
  const std::optional<double> given = number_or_word(args.json("value"));
  if (!given) return problems.add(fmt::format("value is {}", json_text(args.json("value"))), "give a number");
  const double value = *given;
  if (field.kind == FieldKind::kTensor && !can_hold(field.dtype, value)) {
    problems.add(fmt::format("a {} cannot hold the value {}", dtype_name(field.dtype), value),
                 "give another value, or .cast before");
  }
  if (field.kind == FieldKind::kTensor && field.shape[0] != Shape::kUnknown && length > 0 && field.shape[0] > length) {
    problems.add(fmt::format("the field '{}' has {} elements, more than length={}", field.name, field.shape[0], length),
                 "give a longer length");
  }
  if (field.fixed_shape()) {  // rows of one length: nothing is left for the batch to do
    field.shape[0] = std::max(field.shape[0], length);
    return;
  }
  field.pad_value = value;
  field.pad_length = std::max<int64_t>(length, 0);
}

Result<std::unique_ptr<RecordOp>> compile_pad(const Args& args, const Schema& before, uint32_t) {
  const std::string name = args.text("field");
  const size_t field = *before.find(name);
  const double value = number_or_word(args.json("value")).value_or(0);
  const int64_t length = args.has("length") ? args.integer("length") : 0;
  if (before[field].fixed_shape()) return std::unique_ptr<RecordOp>(std::make_unique<PadKnown>(field, value, length));
  return std::unique_ptr<RecordOp>(std::make_unique<Pad>(field, name, value, length));
}

Result<std::unique_ptr<ColumnOp>> compile_pad_columns(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<PadColumns>(args.text("field"),
                                                                number_or_word(args.json("value")).value_or(0),
                                                                args.has("length") ? args.integer("length") : 0));
}

}  // namespace

OpDef pad_op() {
  return make_op({.name = "pad",
                  .help = "Fills rows of different lengths up along their first axis, numbers (n,) or boxes (n, 4), so "
                          "that a batch is one array instead of `(values, offsets)`.",
                  .args = {{"field", ArgType::kText, true, nullptr,
                            "the field; its first axis alone may differ from sample to sample"},
                           {"value", ArgType::kNumberOrWord, false, 0.0,
                            "number to fill up with; NaN and infinities for fields of floats"},
                           {"length", ArgType::kInt, false, nullptr,
                            "the length of every row. By default that of the longest in the batch, which depends on "
                            "the batch size and the ranks: what was filled up then is no part of `forebay.digest`."}},
                  .random = false,
                  .infer = infer_pad,
                  .compile = compile_pad,
                  .compile_columns = compile_pad_columns});
}

}  // namespace forebay
