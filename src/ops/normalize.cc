#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ops/column/column.h"
#include "ops/column/normalize_columns.h"
#include "ops/definition/args.h"
#include "ops/definition/record_of_columns.h"
#include "ops/definition/registry.h"
#include "ops/picture_fields.h"

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
    for (const SamplePicture& picture : images) {
      FOREBAY_RETURN_IF_ERROR(normalize(*picture.image, *context.memory));
      // The schema says the same; see set_normalized().
      if (!keeps_layout_[picture.field]) picture.image->set_layout(true);
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
    // Divided once per channel in double, not per pixel.
    const double full = image.dtype() == DType::kUint16 ? 65535.0 : 255.0;
    std::array<float, kMaxChannels> scale{}, bias{};
    for (size_t c = 0; c < channels; ++c) {
      const double mean = mean_[mean_.size() == 1 ? 0 : c], deviation = std_[std_.size() == 1 ? 0 : c];
      scale[c] = static_cast<float>(1.0 / (full * deviation));
      bias[c] = static_cast<float>(-mean / deviation);
    }
    return image.normalize(std::span(scale).first(channels), std::span(bias).first(channels), memory);
  }

  std::vector<PictureField> fields_;
  std::vector<bool> keeps_layout_;
  std::vector<double> mean_, std_;
};

// Fields of unknown kind: each sample shows whether they are pictures or numbers.
class NormalizeEither final : public RecordOp {
 public:
  NormalizeEither(std::vector<size_t> fields, std::unique_ptr<RecordOp> pictures, std::unique_ptr<RecordOp> numbers)
      : fields_(std::move(fields)), pictures_(std::move(pictures)), numbers_(std::move(numbers)) {}

  Status apply(Record& record, const SampleContext& context) const override {
    const bool numbers = std::all_of(fields_.begin(), fields_.end(), [&](size_t index) {
      return record[index].kind == FieldKind::kTensor && record[index].shape().rank() <= 1;
    });
    if (numbers && !numbers_) {
      return unsupported(
          fmt::format("{} columns, and another number of means or deviations; give one number, or one for each column",
                      fields_.size()));
    }
    return (numbers ? numbers_ : pictures_)->apply(record, context);
  }

 private:
  std::vector<size_t> fields_;
  // `numbers_` is null if the number of means or deviations differs from the number of fields.
  std::unique_ptr<RecordOp> pictures_, numbers_;
};

bool is_numbers(const Field& field) {
  return field.kind == FieldKind::kTensor && !field.image && (field.shape.rank() <= 1 || is_ragged(field));
}

void check_numbers(const Args& args, Problems& problems) {
  for (const std::string_view name : {"mean", "std"}) {
    const std::vector<double> numbers = args.numbers(name);
    if (numbers.empty() || !std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); })) {
      problems.add(fmt::format("{} is {}", name, json_text(args.json(name))),
                   "give one number, or one for each channel or column");
    }
  }
  for (const double deviation : args.numbers("std")) {
    if (!(deviation > 0)) problems.add(fmt::format("std holds {}", deviation), "give standard deviations above 0");
  }
}

void check_counts(const Args& args, const Field& field, Problems& problems) {
  if (field.kind != FieldKind::kTensor) return;
  const Shape shape = picture_shape(field);
  const int64_t channels = shape.rank() == 2 ? 1 : shape[field.channels_first ? 0 : 2];
  if (channels == Shape::kUnknown) return;
  for (const std::string_view name : {"mean", "std"}) {
    const auto given = static_cast<int64_t>(args.numbers(name).size());
    if (given <= 1 || given == channels) continue;
    problems.add(fmt::format("{} has {} numbers and the field '{}' has {} channel{}", name, given, field.name, channels,
                             channels == 1 ? "" : "s"),
                 channels == 1 ? "give one number" : fmt::format("give one number or {}", channels));
  }
}

void infer_numbers(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<std::string> names = args.names("field");
  const auto fields = check_columns(names, ColumnNeed::kNumbersAndBool, "normalize", schema, problems);
  for (const std::string_view name : {"mean", "std"}) {
    const size_t given = args.numbers(name).size();
    if (given <= 1 || given == names.size()) continue;
    problems.add(
        fmt::format("{} has {} numbers for {} column{}", name, given, names.size(), names.size() == 1 ? "" : "s"),
        names.size() == 1 ? "give one number" : fmt::format("give one number or {}", names.size()));
  }
  for (const size_t index : fields) {
    if (is_numbers(schema[index])) {
      schema[index].dtype = DType::kFloat32;
    } else if (schema[index].kind != FieldKind::kAny) {
      problems.add(fmt::format("the field '{}' is a picture, and others named with it are columns of numbers",
                               schema[index].name),
                   "give pictures a .normalize of their own");
    }
  }
}

// Channels first, unless .layout() chose otherwise.
void set_normalized(Field& field) {
  if (!field.layout_chosen && field.kind == FieldKind::kTensor && !field.channels_first) {
    const Shape shape = picture_shape(field);
    set_picture_shape(field, Shape{shape.rank() == 2 ? 1 : shape[2], shape[0], shape[1]});
  }
  if (!field.layout_chosen) field.channels_first = true;
  field.dtype = DType::kFloat32;
  field.normalized = field.kind == FieldKind::kTensor;
}

void infer_normalize(const Args& args, Schema& schema, Problems& problems) {
  check_numbers(args, problems);
  const std::vector<std::string> names = args.names("field");
  const bool numbers = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const auto index = schema.find(name);
    return index && is_numbers(schema[*index]);
  });
  if (numbers) return infer_numbers(args, schema, problems);
  for (const std::string& name : names) {
    const auto index = schema.find(name);
    if (index && schema[*index].normalized) {
      problems.add(fmt::format("the field '{}' is normalized already", name), "take this .normalize out");
      return;
    }
  }
  for (const size_t index : check_pictures(args, PixelNeed::kWhole, "normalize", schema, problems)) {
    check_counts(args, schema[index], problems);
    set_normalized(schema[index]);
  }
}

std::unique_ptr<RecordOp> normalize_pictures(const Args& args, const Schema& before) {
  std::vector<PictureField> fields = picture_fields(args, before);
  std::vector<bool> keeps_layout;
  for (const PictureField& field : fields) keeps_layout.push_back(before[field.index].layout_chosen);
  return std::make_unique<Normalize>(std::move(fields), std::move(keeps_layout), args.numbers("mean"),
                                     args.numbers("std"));
}

std::unique_ptr<RecordOp> normalize_numbers(const Args& args, const Schema& before) {
  const size_t fields = args.names("field").size();
  for (const size_t given : {args.numbers("mean").size(), args.numbers("std").size()}) {
    // This may still be right: the fields may turn out to be pictures, which count by channel.
    if (given != 1 && given != fields) return nullptr;
  }
  return record_of_columns(normalize_columns(args.names("field"), args.numbers("mean"), args.numbers("std")),
                           args.names("field"), before, before);
}

Result<std::unique_ptr<RecordOp>> compile_normalize(const Args& args, const Schema& before, uint32_t) {
  std::vector<size_t> fields;
  for (const std::string& name : args.names("field")) fields.push_back(*before.find(name));
  const auto is = [&](auto test) {
    return std::all_of(fields.begin(), fields.end(), [&](size_t i) { return test(before[i]); });
  };
  if (is(is_numbers)) return normalize_numbers(args, before);
  if (!is([](const Field& field) { return field.kind == FieldKind::kAny || is_numbers(field); }))
    return normalize_pictures(args, before);
  return std::unique_ptr<RecordOp>(
      std::make_unique<NormalizeEither>(fields, normalize_pictures(args, before), normalize_numbers(args, before)));
}

Result<std::unique_ptr<ColumnOp>> compile_normalize_columns(const Args& args, const Schema& before) {
  for (const std::string& name : args.names("field")) {
    if (!is_numbers(before[*before.find(name)])) return std::unique_ptr<ColumnOp>();
  }
  return normalize_columns(args.names("field"), args.numbers("mean"), args.numbers("std"));
}

}  // namespace

OpDef normalize_op() {
  return make_op(
      {.name = "normalize",
       .group = OpGroup::kImage,
       .help = R"(Mean 0 and deviation 1: float32.

Pictures: `(x / 255 - mean) / std` per channel (uint16: `x / 65535`), (channels, height, width) unless `.layout` or `.cast` say
otherwise. Columns of numbers, alone or in lists: `(x - mean) / std`, computed in float64 (NumPy's
`((x.astype("float64") - mean) / std).astype("float32")`, bit by bit).)",
       .args = {{"mean", ArgType::kFloats, true, nullptr,
                 "one number for all, or one for each channel of a picture, or one for each column named. In Python it "
                 "may be mean and std at once: `fb.IMAGENET`."},
                {"std", ArgType::kFloats, true, nullptr, "one number for all or one for each, as of mean, above 0",
                 ArgForm::kPlain, ArgUse::kValue, ArgFaces::kAll, "mean"},
                field_arg("the picture's field, a column, or a list of pictures or of columns")},
       .random = false,
       .infer = infer_normalize,
       .compile = compile_normalize,
       .compile_columns = compile_normalize_columns,
       .sizes = SizeEffect::kSame});
}

}  // namespace forebay
