#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ops/args.h"
#include "ops/picture_fields.h"
#include "ops/registry.h"

namespace forebay {
namespace {

class Normalize final : public RecordOp {
 public:
  Normalize(std::vector<PictureField> fields, std::vector<bool> keeps_layout, std::vector<double> mean,
            std::vector<double> std)
      : fields_(std::move(fields)), keeps_layout_(std::move(keeps_layout)), mean_(std::move(mean)),
        std_(std::move(std)) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, *context.memory));
    for (size_t i = 0; i < images.size(); ++i) {
      FOREBAY_RETURN_IF_ERROR(normalize(*images[i], *context.memory));
      if (!keeps_layout_[i]) images[i]->set_layout(true);
    }
    return {};
  }

 private:
  Status normalize(LazyImage& image, WorkMemory& memory) const {
    const auto channels = static_cast<size_t>(image.channels());
    for (const size_t given : {mean_.size(), std_.size()}) {
      if (given == 1 || given == channels) continue;
      return unsupported(fmt::format("{} means or deviations for a picture of {} channels", given, channels));
    }
    std::array<float, kMaxChannels> scale{}, bias{};
    for (size_t c = 0; c < channels; ++c) {
      const double mean = mean_[mean_.size() == 1 ? 0 : c], deviation = std_[std_.size() == 1 ? 0 : c];
      scale[c] = static_cast<float>(1.0 / (255.0 * deviation));
      bias[c] = static_cast<float>(-mean / deviation);
    }
    return image.normalize(std::span(scale).first(channels), std::span(bias).first(channels), memory);
  }

  std::vector<PictureField> fields_;
  std::vector<bool> keeps_layout_;
  std::vector<double> mean_, std_;
};

void check_numbers(const Args& args, Problems& problems) {
  for (const std::string_view name : {"mean", "std"}) {
    const std::vector<double> numbers = args.numbers(name);
    if (numbers.empty() || !std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); })) {
      problems.add(fmt::format("{} is {}", name, args.json(name).dump()), "give one number, or one for each channel");
    }
  }
  for (const double deviation : args.numbers("std")) {
    if (!(deviation > 0)) problems.add(fmt::format("std holds {}", deviation), "give standard deviations above 0");
  }
}

void check_counts(const Args& args, const Field& field, Problems& problems) {
  if (field.kind != FieldKind::kTensor) return;
  const int64_t channels = field.shape.rank() == 2 ? 1 : field.shape[field.channels_first ? 0 : 2];
  if (channels == Shape::kUnknown) return;
  for (const std::string_view name : {"mean", "std"}) {
    const auto given = static_cast<int64_t>(args.numbers(name).size());
    if (given <= 1 || given == channels) continue;
    problems.add(fmt::format("{} has {} numbers and the field '{}' has {} channel{}", name, given, field.name, channels,
                             channels == 1 ? "" : "s"),
                 channels == 1 ? "give one number" : fmt::format("give one number or {}", channels));
  }
}

// Channels first, unless .layout() said otherwise.
void set_normalized(Field& field) {
  if (!field.layout_chosen && field.kind == FieldKind::kTensor && !field.channels_first) {
    const Shape& shape = field.shape;
    field.shape = Shape{shape.rank() == 2 ? 1 : shape[2], shape[0], shape[1]};
  }
  if (!field.layout_chosen) field.channels_first = true;
  field.dtype = DType::kFloat32;
  field.normalized = true;
}

void infer(const Args& args, Schema& schema, Problems& problems) {
  check_numbers(args, problems);
  for (const std::string& name : args.names("field")) {
    const auto index = schema.find(name);
    if (index && schema[*index].normalized) {
      problems.add(fmt::format("the field '{}' is normalized already", name), "take this .normalize out");
      return;
    }
  }
  for (const size_t index : check_pictures(args, PixelNeed::kEightBits, "normalize", schema, problems)) {
    check_counts(args, schema[index], problems);
    set_normalized(schema[index]);
  }
}

Result<std::unique_ptr<RecordOp>> compile(const Args& args, const Schema& before, uint32_t) {
  std::vector<PictureField> fields = picture_fields(args, before);
  std::vector<bool> keeps_layout;
  for (const PictureField& field : fields) keeps_layout.push_back(before[field.index].layout_chosen);
  return std::unique_ptr<RecordOp>(std::make_unique<Normalize>(std::move(fields), std::move(keeps_layout),
                                                               args.numbers("mean"), args.numbers("std")));
}

}  // namespace

OpDef normalize_op() {
  return make_op({.name = "normalize",
                  .help = "(x / 255 - mean) / std as float32, channels first unless .layout() said otherwise before.",
                  .args = {{"mean", ArgType::kFloats, true, nullptr, "one number, or one for each channel"},
                           {"std", ArgType::kFloats, true, nullptr, "one number, or one for each channel"},
                           field_arg()},
                  .random = false,
                  .infer = infer,
                  .compile = compile});
}

}  // namespace forebay
