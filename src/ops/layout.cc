#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

class Layout final : public RecordOp {
 public:
  Layout(std::vector<PictureField> fields, bool channels_first)
      : fields_(std::move(fields)), channels_first_(channels_first) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, *context.memory));
    for (const SamplePicture& picture : images) picture.image->set_layout(channels_first_);
    return {};
  }

 private:
  std::vector<PictureField> fields_;
  bool channels_first_;
};

void set_layout(Field& field, bool channels_first) {
  if (field.kind == FieldKind::kTensor) {
    Shape shape = picture_shape(field);
    if (shape.rank() == 2) {
      shape = channels_first ? Shape{1, shape[0], shape[1]} : Shape{shape[0], shape[1], 1};
    } else if (channels_first && !field.channels_first) {
      shape = Shape{shape[2], shape[0], shape[1]};
    } else if (!channels_first && field.channels_first) {
      shape = Shape{shape[1], shape[2], shape[0]};
    }
    set_picture_shape(field, shape);
  }
  field.channels_first = channels_first;
  field.layout_chosen = true;
}

void infer_layout(const Args& args, Schema& schema, Problems& problems) {
  const std::string order = args.text("order");
  if (order != "chw" && order != "hwc") {
    problems.add(fmt::format("unknown layout '{}'", order), "give \"chw\" (channels first) or \"hwc\"");
  }
  for (const size_t index : check_pictures(args, PixelNeed::kAny, "layout", schema, problems)) {
    set_layout(schema[index], order == "chw");
  }
}

Result<std::unique_ptr<RecordOp>> compile_layout(const Args& args, const Schema& before, uint32_t) {
  return std::unique_ptr<RecordOp>(std::make_unique<Layout>(picture_fields(args, before), args.text("order") == "chw"));
}

}  // namespace

OpDef layout_op() {
  return make_op(
      {.name = "layout",
       .group = OpGroup::kImage,
       .help = "The order of a picture's axes: \"chw\" (channels, height, width) or \"hwc\".",
       .args = {{"order", ArgType::kText, true, nullptr, "\"chw\" (channels first) or \"hwc\""}, field_arg()},
       .random = false,
       .infer = infer_layout,
       .compile = compile_layout,
       .sizes = SizeEffect::kBySizes});
}

}  // namespace forebay
