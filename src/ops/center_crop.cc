#include <cmath>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

// Rounds half to even, as Python and torchvision do. A crop larger than the picture centres it; an
// odd zero goes to the far side.
int64_t crop_start(int64_t side, int64_t crop) {
  if (crop > side) return -((crop - side) / 2);
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(side - crop) / 2.0));
}

class CenterCrop final : public RecordOp {
 public:
  CenterCrop(std::vector<PictureField> fields, Size size) : fields_(std::move(fields)), size_(size) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, *context.memory));
    for (const SamplePicture& picture : images) {
      LazyImage* const image = picture.image;
      const Rect part = {crop_start(image->width(), size_.width), crop_start(image->height(), size_.height),
                         size_.width, size_.height};
      FOREBAY_RETURN_IF_ERROR(image->crop(part, *context.memory));
    }
    return {};
  }

 private:
  std::vector<PictureField> fields_;
  Size size_;
};

void infer_center_crop(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<size_t> fields = check_pictures(args, PixelNeed::kAny, "center_crop", schema, problems);
  check_size(args, "n", problems);
  set_size(schema, fields, args.size("n"));
}

Result<std::unique_ptr<RecordOp>> compile_center_crop(const Args& args, const Schema& before, uint32_t) {
  return std::unique_ptr<RecordOp>(std::make_unique<CenterCrop>(picture_fields(args, before), args.size("n")));
}

}  // namespace

OpDef center_crop_op() {
  return make_op({.name = "center_crop",
                  .group = OpGroup::kImage,
                  .help = "The middle of a picture; it starts at `round((H - h) / 2)`. Where the picture is smaller, "
                          "zeros are around it.",
                  .args = {crop_size_arg(), field_arg()},
                  .random = false,
                  .infer = infer_center_crop,
                  .compile = compile_center_crop,
                  .sizes = SizeEffect::kBySizes});
}

}  // namespace forebay
