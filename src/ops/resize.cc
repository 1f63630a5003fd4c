#include <algorithm>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

class Resize final : public RecordOp {
 public:
  Resize(std::vector<PictureField> fields, std::optional<Size> size, int64_t short_side)
      : fields_(std::move(fields)), size_(size), short_side_(short_side) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, *context.memory));
    for (const SamplePicture& picture : images) {
      FOREBAY_ASSIGN(const Size size, target(*picture.image));
      const Interpolation interpolation = fields_[picture.field].interpolation;
      FOREBAY_RETURN_IF_ERROR(picture.image->resize(size.height, size.width, interpolation, *context.memory));
    }
    return {};
  }

 private:
  Result<Size> target(const LazyImage& image) const {
    if (size_) return *size_;
    const int64_t height = image.height(), width = image.width();
    const Size size = height <= width ? Size{short_side_, short_side_ * width / height}
                                      : Size{short_side_ * height / width, short_side_};
    if (size.height > kMaxMadePixels / size.width) {
      return unsupported(fmt::format("{} pixels with a short side of {} would be {}, more than {} pixels",
                                     size_text(height, width), short_side_, size_text(size.height, size.width),
                                     kMaxMadePixels));
    }
    return size;
  }

  std::vector<PictureField> fields_;
  std::optional<Size> size_;
  int64_t short_side_;
};

void check_sides(const Args& args, Problems& problems) {
  if (args.has("size") == args.has("short_side")) {
    return problems.add(
        args.has("size") ? "size and short_side are both given" : "neither size nor short_side is given",
        "give size (one number or [height, width]) or short_side");
  }
  if (args.has("size")) return check_size(args, "size", problems);
  const int64_t side = args.integer("short_side");
  if (side < 1 || side > kMaxSide) {
    problems.add(fmt::format("short_side is {}", side), fmt::format("give a side from 1 to {} pixels", kMaxSide));
  }
}

void infer_resize(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<size_t> fields = check_pictures(args, PixelNeed::kAny, "resize", schema, problems);
  check_interpolation(args, fields, schema, problems);
  check_sides(args, problems);
  set_size(schema, fields, args.has("size") ? args.size("size") : Size{Shape::kUnknown, Shape::kUnknown});
}

Result<std::unique_ptr<RecordOp>> compile_resize(const Args& args, const Schema& before, uint32_t) {
  std::optional<Size> size;
  if (args.has("size")) size = args.size("size");
  return std::unique_ptr<RecordOp>(
      std::make_unique<Resize>(picture_fields(args, before), size, size ? 0 : args.integer("short_side")));
}

}  // namespace

OpDef resize_op() {
  return make_op(
      {.name = "resize",
       .group = OpGroup::kImage,
       .help = "Changes the size in pixels; `(h, w, c)` in and out.",
       .args = {{"size", ArgType::kSize, false, nullptr, "one number for a square, or (height, width)"},
                {"short_side", ArgType::kInt, false, nullptr,
                 "instead of `size`: length of the shorter side; the other becomes `int(short_side * long / short)`",
                 ArgForm::kNamed},
                interpolation_arg(),
                field_arg()},
       .random = false,
       .infer = infer_resize,
       .compile = compile_resize,
       .sizes = SizeEffect::kBySizes});
}

}  // namespace forebay
