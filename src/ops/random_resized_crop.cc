#include "ops/random_resized_crop.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/portable_math.h"
#include "ops/definition/registry.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

int64_t rounded(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

// The largest central part with an allowed ratio.
Rect central_crop(int64_t height, int64_t width, double low_ratio, double high_ratio) {
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  int64_t w = width, h = height;
  if (ratio < low_ratio) h = std::max<int64_t>(rounded(static_cast<double>(width) / low_ratio), 1);
  if (ratio > high_ratio) w = std::max<int64_t>(rounded(static_cast<double>(height) * high_ratio), 1);
  return {(width - w) / 2, (height - h) / 2, w, h};
}

class RandomResizedCrop final : public RecordOp {
 public:
  RandomResizedCrop(std::vector<PictureField> fields, Size size, const CropRanges& ranges, uint32_t operation)
      : fields_(std::move(fields)), size_(size), ranges_(ranges), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, *context.memory));
    FOREBAY_ASSIGN(const Size size, common_size(images, fields_, {1, 1}));
    RandomStream random(context.key, operation_);
    const Rect part = draw_crop(size.height, size.width, ranges_, random);
    for (const SamplePicture& picture : images) {
      const Interpolation interpolation = fields_[picture.field].interpolation;
      FOREBAY_RETURN_IF_ERROR(picture.image->crop(part, *context.memory));
      FOREBAY_RETURN_IF_ERROR(picture.image->resize(size_.height, size_.width, interpolation, *context.memory));
    }
    return {};
  }

 private:
  std::vector<PictureField> fields_;
  Size size_;
  CropRanges ranges_;
  uint32_t operation_;
};

void check_range(const Args& args, std::string_view name, double highest, Problems& problems) {
  const std::vector<double> range = args.numbers(name);
  if (range.size() == 2 && range[0] > 0 && range[0] <= range[1] && range[1] <= highest) return;
  problems.add(fmt::format("{} is {}", name, json_text(args.json(name))),
               fmt::format("give [low, high] with 0 < low <= high{}", highest <= 1 ? " <= 1" : ""));
}

void infer_random_resized_crop(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<size_t> fields = check_pictures(args, PixelNeed::kAny, "random_resized_crop", schema, problems);
  check_interpolation(args, fields, schema, problems);
  check_size(args, "n", problems);
  check_range(args, "scale", 1.0, problems);
  check_range(args, "ratio", 1e6, problems);
  set_size(schema, fields, args.size("n"));
}

Result<std::unique_ptr<RecordOp>> compile_random_resized_crop(const Args& args, const Schema& before,
                                                              uint32_t random_index) {
  const std::vector<double> scale = args.numbers("scale"), ratio = args.numbers("ratio");
  return std::unique_ptr<RecordOp>(std::make_unique<RandomResizedCrop>(
      picture_fields(args, before), args.size("n"), CropRanges{scale[0], scale[1], ratio[0], ratio[1]}, random_index));
}

}  // namespace

Rect draw_crop(int64_t height, int64_t width, const CropRanges& ranges, RandomStream& random) {
  const double area = static_cast<double>(height) * static_cast<double>(width);
  // Logarithms make twice as wide and twice as high equally likely. The portable ones are used
  // because C libraries differ in the last bits.
  const double log_low = portable_log(ranges.ratio_low), log_high = portable_log(ranges.ratio_high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.uniform(ranges.scale_low, ranges.scale_high);
    const double ratio = portable_exp(random.uniform(log_low, log_high));
    const int64_t w = rounded(std::sqrt(target * ratio)), h = rounded(std::sqrt(target / ratio));
    // Draws again instead of clipping, which would give shapes outside the requested ranges; at
    // most ten times, as torchvision does.
    if (w < 1 || w > width || h < 1 || h > height) continue;
    const auto y = static_cast<int64_t>(random.below(static_cast<uint64_t>(height - h + 1)));
    const auto x = static_cast<int64_t>(random.below(static_cast<uint64_t>(width - w + 1)));
    return {x, y, w, h};
  }
  return central_crop(height, width, ranges.ratio_low, ranges.ratio_high);
}

OpDef random_resized_crop_op() {
  return make_op(
      {.name = "random_resized_crop",
       .group = OpGroup::kImage,
       .help = "A random part of a picture, of random size and shape, resized, as in torchvision's RandomResizedCrop.",
       .args = {crop_size_arg(),
                {"scale", ArgType::kLowHigh, false, Json::array({0.08, 1.0}),
                 "share of the picture's area that the part has", ArgForm::kNamed},
                {"ratio", ArgType::kLowHigh, false, Json::array({3.0 / 4.0, 4.0 / 3.0}), "its width over its height",
                 ArgForm::kNamed},
                interpolation_arg(),
                field_arg()},
       .random = true,
       .infer = infer_random_resized_crop,
       .compile = compile_random_resized_crop,
       .sizes = SizeEffect::kBySizes});
}

}  // namespace forebay
