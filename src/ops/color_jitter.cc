#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/image/color.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

enum Adjustment : uint8_t { kBrightness, kContrast, kSaturation, kHue };
constexpr std::array<std::string_view, 4> kNames = {"brightness", "contrast", "saturation", "hue"};

struct Range {
  double low = 0, high = 0;
  bool given = false;
};

// One number x stands for 1 - x to 1 + x, or for -x to x if the adjustment is the hue.
Range range_of(const Args& args, Adjustment what) {
  const std::vector<double> numbers = args.numbers(kNames[what]);
  if (numbers.empty()) return {};
  if (numbers.size() == 2) return {numbers[0], numbers[1], true};
  if (what == kHue) return {-numbers[0], numbers[0], numbers[0] != 0};
  return {std::max(0.0, 1 - numbers[0]), 1 + numbers[0], numbers[0] != 0};
}

void adjust(Adjustment what, double factor, int64_t channels, std::span<uint8_t> pixels) {
  switch (what) {
    case kBrightness: return adjust_brightness(static_cast<float>(factor), pixels);
    case kContrast: return adjust_contrast(static_cast<float>(factor), channels, pixels);
    // Grey has neither saturation nor hue and stays unchanged, as in torchvision.
    case kSaturation: return channels == 3 ? adjust_saturation(static_cast<float>(factor), pixels) : void();
    case kHue: return channels == 3 ? adjust_hue(factor, pixels) : void();
  }
}

class ColorJitter final : public RecordOp {
 public:
  ColorJitter(std::vector<PictureField> fields, std::array<Range, 4> ranges, uint32_t operation)
      : fields_(std::move(fields)), ranges_(ranges), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, *context.memory));
    const Draw draw = this->draw(context.key);
    for (const SamplePicture& picture : images) {
      LazyImage* const image = picture.image;
      if (image->channels() != 1 && image->channels() != 3) {
        return unsupported(fmt::format("a picture of {} channels; 1 and 3 are handled", image->channels()));
      }
      FOREBAY_ASSIGN(Tensor * tensor, image->edit(*context.memory));
      for (const Adjustment what : draw.order) {
        if (ranges_[what].given) adjust(what, draw.factor[what], image->channels(), tensor->buffer.mutable_span());
      }
    }
    return {};
  }

 private:
  struct Draw {
    std::array<Adjustment, 4> order = {kBrightness, kContrast, kSaturation, kHue};
    std::array<double, 4> factor{};
  };

  // All numbers are drawn whether used or not, so that one range does not change the draws of
  // another.
  Draw draw(const SampleKey& key) const {
    RandomStream random(key, operation_);
    Draw draw;
    // A Fisher-Yates shuffle: all 24 orders are equally likely.
    for (size_t i = draw.order.size() - 1; i > 0; --i) std::swap(draw.order[i], draw.order[random.below(i + 1)]);
    for (size_t i = 0; i < draw.factor.size(); ++i) draw.factor[i] = random.uniform(ranges_[i].low, ranges_[i].high);
    return draw;
  }

  std::vector<PictureField> fields_;
  std::array<Range, 4> ranges_;
  uint32_t operation_;
};

void check_range(const Args& args, Adjustment what, Problems& problems) {
  const std::vector<double> numbers = args.numbers(kNames[what]);
  if (numbers.empty()) return;
  const bool hue = what == kHue;
  const double lowest = hue && numbers.size() == 2 ? -0.5 : 0.0, highest = hue ? 0.5 : 1e6;
  const bool inside = numbers.size() <= 2 && numbers.front() >= lowest && numbers.back() <= highest &&
                      numbers.front() <= numbers.back();
  if (inside) return;
  problems.add(fmt::format("{} is {}", kNames[what], json_text(args.json(kNames[what]))),
               hue ? "give a number from 0 to 0.5, or [low, high] between -0.5 and 0.5"
                   : "give a number of at least 0, or [low, high] with 0 <= low <= high");
}

void infer_color_jitter(const Args& args, Schema& schema, Problems& problems) {
  for (const size_t index : check_pictures(args, PixelNeed::kEightBits, "color_jitter", schema, problems)) {
    const Field& field = schema[index];
    const Shape shape = picture_shape(field);
    if (field.kind != FieldKind::kTensor || shape.rank() != 3) continue;
    const int64_t channels = shape[field.channels_first ? 0 : 2];
    if (channels == 2 || channels == 4) {
      problems.add(fmt::format("the field '{}' has {} channels", field.name, channels), "color_jitter takes 1 or 3");
    }
  }
  bool any = false;
  for (const Adjustment what : {kBrightness, kContrast, kSaturation, kHue}) {
    check_range(args, what, problems);
    any = any || !args.numbers(kNames[what]).empty();
  }
  if (!any) problems.add("nothing to change is given", "give at least one of brightness, contrast, saturation and hue");
}

Result<std::unique_ptr<RecordOp>> compile_color_jitter(const Args& args, const Schema& before, uint32_t random_index) {
  std::array<Range, 4> ranges;
  for (const Adjustment what : {kBrightness, kContrast, kSaturation, kHue}) ranges[what] = range_of(args, what);
  return std::unique_ptr<RecordOp>(std::make_unique<ColorJitter>(picture_fields(args, before), ranges, random_index));
}

ArgDef range_arg(Adjustment what, std::string help) {
  return {std::string(kNames[what]), ArgType::kRange, false, nullptr, std::move(help)};
}

}  // namespace

OpDef color_jitter_op() {
  return make_op({.name = "color_jitter",
                  .group = OpGroup::kImage,
                  .help = R"(Changes brightness, contrast, saturation and hue by random amounts, in random order.

Each is a number (`0.4` draws a factor between 0.6 and 1.4; for `hue` a turn between -0.4 and 0.4) or the pair (low, high) to draw
from. What is not given stays as it is.)",
                  .args = {range_arg(kBrightness, "a number x for factors from 1 - x to 1 + x, or (low, high)"),
                           range_arg(kContrast, "likewise"), range_arg(kSaturation, "likewise"),
                           range_arg(kHue, "a number x for shifts from -x to x of the colour circle, or (low, high)"),
                           field_arg()},
                  .random = true,
                  .infer = infer_color_jitter,
                  .compile = compile_color_jitter,
                  .sizes = SizeEffect::kSame});
}

}  // namespace forebay
