#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

class RandomCrop final : public RecordOp {
 public:
  RandomCrop(std::vector<PictureField> fields, Size crop, uint32_t operation)
      : fields_(std::move(fields)), crop_(crop), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, *context.memory));
    FOREBAY_ASSIGN(const Size size, common_size(images, fields_, crop_));
    if (size.height < crop_.height || size.width < crop_.width) {
      return unsupported(fmt::format("a crop of {} does not fit into the picture of {}; put .resize before it",
                                     size_text(crop_.height, crop_.width), size_text(size.height, size.width)));
    }
    // One draw for all fields, because a mask has to be cut at the same place as its picture.
    RandomStream random(context.key, operation_);
    const auto y = static_cast<int64_t>(random.below(static_cast<uint64_t>(size.height - crop_.height + 1)));
    const auto x = static_cast<int64_t>(random.below(static_cast<uint64_t>(size.width - crop_.width + 1)));
    for (const SamplePicture& picture : images) {
      FOREBAY_RETURN_IF_ERROR(picture.image->crop({x, y, crop_.width, crop_.height}, *context.memory));
    }
    return {};
  }

 private:
  std::vector<PictureField> fields_;
  Size crop_;
  uint32_t operation_;
};

void infer_random_crop(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<size_t> fields = check_pictures(args, PixelNeed::kAny, "random_crop", schema, problems);
  check_size(args, "n", problems);
  set_size(schema, fields, args.size("n"));
}

Result<std::unique_ptr<RecordOp>> compile_random_crop(const Args& args, const Schema& before, uint32_t random_index) {
  return std::unique_ptr<RecordOp>(
      std::make_unique<RandomCrop>(picture_fields(args, before), args.size("n"), random_index));
}

}  // namespace

OpDef random_crop_op() {
  return make_op({.name = "random_crop",
                  .group = OpGroup::kImage,
                  .help = "A part of a picture at a random place.",
                  .args = {crop_size_arg(), field_arg()},
                  .random = true,
                  .infer = infer_random_crop,
                  .compile = compile_random_crop,
                  .sizes = SizeEffect::kBySizes});
}

}  // namespace forebay
