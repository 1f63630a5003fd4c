#include <fmt/format.h>

#include "ops/column/cast_columns.h"
#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/image/cast_elements.h"
#include "ops/image/lazy_image.h"
#include "ops/image/unrepresentable_elements.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

class CastTensor final : public Deferred {
 public:
  CastTensor(Tensor tensor, DType dtype) : tensor_(std::move(tensor)), dtype_(dtype) {}
  DType dtype() const override { return dtype_; }
  Shape shape() const override { return tensor_.shape; }
  Status write(std::span<uint8_t> out, WorkMemory&) override {
    cast_elements(tensor_.dtype, tensor_.buffer.data(), dtype_, out.data(), tensor_.shape.elements(),
                  Rounding::kTowardZero);
    return {};
  }
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<CastTensor>(*this); }

 private:
  Tensor tensor_;
  DType dtype_;
};

struct CastField {
  size_t index;
  std::string name;
  bool image, channels_first;
};

class Cast final : public RecordOp {
 public:
  Cast(std::vector<CastField> fields, DType dtype, bool saturates)
      : fields_(std::move(fields)), dtype_(dtype), saturates_(saturates) {}

  Status apply(Record& record, const SampleContext& context) const override {
    for (const CastField& field : fields_) FOREBAY_RETURN_IF_ERROR(cast(record, field, *context.memory));
    return {};
  }

 private:
  Status cast(Record& record, const CastField& field, WorkMemory& memory) const {
    Value& value = record[field.index];
    if (value.kind != FieldKind::kTensor)
      return unsupported(fmt::format("the field '{}' holds no numbers", field.name));
    // A picture stays a description: parts that a later crop removes are neither decoded nor
    // converted.
    if (field.image || is_described(value)) {
      const PictureField of_pictures = {field.index, field.name, field.channels_first, {}};
      FOREBAY_ASSIGN(const auto images, pictures(record, std::span(&of_pictures, 1), memory));
      for (const SamplePicture& picture : images)
        FOREBAY_RETURN_IF_ERROR(cast_picture(*picture.image, field.name, memory));
      return {};
    }
    FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
    if (value.tensor.dtype == dtype_) return {};
    FOREBAY_RETURN_IF_ERROR(check(value.tensor, field.name, Rounding::kTowardZero));
    value = Value::of(std::make_unique<CastTensor>(std::move(value.tensor), dtype_));
    return {};
  }

  // Checks the whole picture at this step, so that an error does not depend on later crops.
  Status cast_picture(LazyImage& image, const std::string& name, WorkMemory& memory) const {
    if (!saturates_ && !always_fits(image.dtype(), dtype_)) {
      FOREBAY_ASSIGN(const Tensor* const pixels, image.pixels(memory));
      FOREBAY_RETURN_IF_ERROR(check(*pixels, name, Rounding::kHalfToEven));
    }
    return image.cast(dtype_, memory);
  }

  Status check(const Tensor& tensor, const std::string& name, Rounding rounding) const {
    // Saturation makes every value fit.
    if (saturates_) return {};
    const int64_t count = tensor.shape.elements();
    const auto unfit = first_unrepresentable(tensor.dtype, tensor.buffer.data(), dtype_, count, rounding);
    if (!unfit) return {};
    return cast_range_error(
        name, describe_unrepresentable(tensor.dtype, tensor.buffer.data(), dtype_, *unfit, tensor.shape.rank() == 0));
  }

  std::vector<CastField> fields_;
  DType dtype_;
  bool saturates_;
};

bool saturates(const Args& args) { return args.text("errors") == "saturate"; }

void infer_cast(const Args& args, Schema& schema, Problems& problems) {
  const DType dtype = args.dtype("dtype");
  if (const std::string errors = args.text("errors"); errors != "raise" && errors != "saturate")
    problems.add(fmt::format("unknown errors \"{}\"", errors), "give \"raise\" or \"saturate\"");
  for (const size_t index : check_fields(args.names("field"), schema, problems)) {
    Field& field = schema[index];
    if (field.kind == FieldKind::kAny) continue;
    if (field.kind != FieldKind::kTensor) {
      problems.add(fmt::format("the field '{}' is {}, not numbers", field.name, field.type_word()),
                   field.string_list()                              ? string_list_remedy(field, "cast")
                   : field.name == "image" || field.name == "bytes" ? "put .decode_image() before .cast"
                                                                    : "name a field of numbers");
      continue;
    }
    field.dtype = dtype;
  }
}

bool is_picture(const Field& field) { return field.image && field.kind == FieldKind::kTensor; }

Result<std::unique_ptr<RecordOp>> compile_cast(const Args& args, const Schema& before, uint32_t) {
  std::vector<CastField> fields;
  for (const std::string& name : args.names("field")) {
    const size_t index = *before.find(name);
    fields.push_back({index, name, is_picture(before[index]), before[index].channels_first});
  }
  return std::unique_ptr<RecordOp>(std::make_unique<Cast>(std::move(fields), args.dtype("dtype"), saturates(args)));
}

Result<std::unique_ptr<ColumnOp>> compile_cast_columns(const Args& args, const Schema& before) {
  for (const std::string& name : args.names("field")) {
    if (is_picture(before[*before.find(name)])) return std::unique_ptr<ColumnOp>();
  }
  return cast_columns(args.names("field"), args.dtype("dtype"), saturates(args));
}

}  // namespace

OpDef cast_op() {
  return make_op(
      {.name = "cast",
       .group = OpGroup::kColumn,
       .help = R"(Changes the element type of pictures, numbers, tensors and lists.

As NumPy's `astype` converts: to floats the nearest value, to integers toward zero (pictures: rounded half to even), to bool what is not 0.
What NumPy leaves to the processor, or lets wrap around, makes the sample bad: a value that an integer type cannot hold, and NaN.
`on_error=` of the Loader says what becomes of it. A float type holds every number, the largest as infinity.)",
       .args =
           {{"dtype", ArgType::kDType, true, nullptr, "\"float32\", \"uint8\", \"bfloat16\", ..., or a NumPy type"},
            field_arg("a field or a list of fields"),
            {"errors", ArgType::kText, false, "raise",
             "\"raise\", or \"saturate\": what an integer type cannot hold becomes the nearest that it can, and NaN 0",
             ArgForm::kNamed}},
       .random = false,
       .infer = infer_cast,
       .compile = compile_cast,
       .compile_columns = compile_cast_columns,
       .each = true,
       .sizes = SizeEffect::kSame});
}

}  // namespace forebay
