#include <algorithm>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/encoded_fields.h"
#include "ops/image/image_limits.h"
#include "ops/image/lazy_image.h"
#include "ops/image/picture_list.h"
#include "ops/image/wide_pixels.h"

namespace forebay {
namespace {

constexpr DecodedKind kPicture = {"image", "decode_image", "picture", "pictures"};

void decode_field(const std::string& name, ColorMode mode, bool lists, Schema& schema, Problems& problems) {
  const auto index = resolve_encoded_field(name, kPicture, schema, problems);
  if (!index) return;
  Field& field = schema[*index];
  const bool list = is_encoded_list(field, lists);
  check_lists(field, lists, kPicture, problems);
  field.kind = FieldKind::kTensor;
  field.dtype = is_wide(mode) ? DType::kUint16 : DType::kUint8;
  field.shape = {Shape::kUnknown, Shape::kUnknown, channels(mode)};
  if (list) field.shape = {Shape::kUnknown, Shape::kUnknown, Shape::kUnknown, channels(mode)};
  field.image = true;
  field.channels_first = false;
}

class DecodeImage final : public RecordOp {
 public:
  DecodeImage(std::vector<EncodedField> fields, ColorMode mode, int64_t max_pixels)
      : fields_(std::move(fields)), mode_(mode), max_pixels_(max_pixels) {}

  Status apply(Record& record, const SampleContext& context) const override {
    for (const EncodedField& field : fields_) {
      Value& value = record[field.index];
      FOREBAY_ASSIGN(auto decoded, decode(value, field, *context.memory));
      value = Value::of(std::move(decoded));
    }
    return {};
  }

 private:
  using Picture = std::unique_ptr<Deferred>;

  Result<Picture> decode(const Value& value, const EncodedField& field, WorkMemory& memory) const {
    FOREBAY_ASSIGN(const bool list, is_list_value(value, field.name, field.list, kPicture));
    if (list) return decode_list(value.bytes, memory);
    FOREBAY_ASSIGN(Buffer bytes, encoded_bytes(value, kPicture));
    return decode(std::move(bytes), memory);
  }

  Result<Picture> decode_list(const Buffer& run, WorkMemory& memory) const {
    std::vector<Picture> pictures;
    FOREBAY_RETURN_IF_ERROR(for_each_encoded(run, kPicture, [&](Buffer bytes) -> Status {
      FOREBAY_ASSIGN(pictures.emplace_back(), decode(std::move(bytes), memory));
      return {};
    }));
    const bool none = pictures.empty();
    if (none) {
      FOREBAY_ASSIGN(pictures.emplace_back(), blank());
    }
    return Picture(std::make_unique<PictureList>(std::move(pictures), /*stands_in=*/none));
  }

  // One pixel, for a list without pictures.
  Result<Picture> blank() const {
    Tensor pixel = Tensor::allocate(is_wide(mode_) ? DType::kUint16 : DType::kUint8, Shape{1, 1, channels(mode_)});
    std::fill_n(pixel.buffer.data(), pixel.nbytes(), uint8_t{0});
    FOREBAY_ASSIGN(auto image, LazyImage::of_pixels(std::move(pixel), false));
    return Picture(std::move(image));
  }

  Result<Picture> decode(Buffer bytes, WorkMemory& memory) const {
    FOREBAY_ASSIGN(const ImageInfo info, probe_within(bytes.span(), max_pixels_));
    if (!is_wide(mode_)) return Picture(LazyImage::of_encoded(std::move(bytes), info, mode_, memory.meter().current()));
    FOREBAY_ASSIGN(Tensor pixels, decode_wide({std::move(bytes), info, mode_}, memory));
    FOREBAY_ASSIGN(auto image, LazyImage::of_pixels(std::move(pixels), false));
    return Picture(std::move(image));
  }

  std::vector<EncodedField> fields_;
  ColorMode mode_;
  int64_t max_pixels_;
};

ColorMode color_mode(const Args& args) { return color_mode_from_name(args.text("mode")).value_or(ColorMode::kRgb); }

void infer_decode_image(const Args& args, Schema& schema, Problems& problems) {
  const std::string mode = args.text("mode");
  if (!color_mode_from_name(mode))
    problems.add(fmt::format("unknown mode '{}'", mode), fmt::format("give one of {}", color_mode_names()));
  if (args.integer("max_pixels") < 1)
    problems.add("max_pixels is not positive", "give the most pixels a picture may have");
  const std::vector<std::string> names = encoded_fields(args, kPicture, schema);
  if (names.empty()) report_no_encoded_field(kPicture, schema, problems);
  for (const std::string& name : names) decode_field(name, color_mode(args), given_lists(args), schema, problems);
}

FieldUse decode_image_uses(const OpSpec& spec, const Schema& before) { return decoder_uses(spec, kPicture, before); }

Result<std::unique_ptr<RecordOp>> compile_decode_image(const Args& args, const Schema& before, uint32_t) {
  std::vector<EncodedField> fields;
  for (const std::string& name : encoded_fields(args, kPicture, before)) {
    const size_t index = *before.find(name);
    fields.push_back({index, name, is_encoded_list(before[index], given_lists(args))});
  }
  return std::unique_ptr<RecordOp>(
      std::make_unique<DecodeImage>(std::move(fields), color_mode(args), args.integer("max_pixels")));
}

}  // namespace

OpDef decode_image_op() {
  return make_op(
      {.name = "decode_image",
       .group = OpGroup::kImage,
       .help = R"(Decodes JPEG, PNG, WebP or BMP into the field `image`: uint8 or uint16, (height, width, channels).

As Pillow would: EXIF orientation applied, alpha dropped unless asked for, 16 bits become 8 by their
upper byte, CMYK converted. Only the part that a following crop needs is decoded.

A list of encoded pictures becomes (n, height, width, channels). Operators after it change each picture, with one draw for all of a sample.
Give them one size with `.resize(size)` or a crop, and batches are ragged: `(values, offsets)`; or cut each with `.patchify`.

Errors of a sample: Corrupt for damaged data, Unsupported for other formats, and for pictures of several sizes in a list.)",
       .args =
           {{"field", ArgType::kFields, false, Json::array(),
             "the encoded field, or a list of several (a pair of cameras); by default `image`, else `bytes`, which "
             "becomes `image`. Fields of different modes are decoded by a step each: "
             "`.decode_image(field=\"image\").decode_image(\"palette\", field=\"mask\")`.",
             ArgForm::kNamed},
            {"mode", ArgType::kText, false, "rgb",
             "\"rgb\" (3 channels) or \"gray\" (1 channel), 8 bits.\n\"palette\": the indices of a palette, 1 channel, "
             "as Pillow's mode \"P\" has them: the classes of masks of Pascal VOC, DAVIS and others. PNG and BMP have "
             "palettes; pictures without one are Unsupported. Resize them with interpolation=\"nearest\", or "
             "{\"mask\": \"nearest\"} where they share a draw with pictures: bilinear is InvalidArgument.\n\"rgba\" (4 "
             "channels), as Pillow's `convert(\"RGBA\")`, and \"alpha\" (its last channel alone): 255 where a picture "
             "has no alpha.\n\"rgb16\" (3 channels) and \"gray16\" (1 channel): uint16, with the 16 bits of a PNG kept "
             "(depth, X-rays: Pillow's \"I;16\") and 8-bit pictures times 257. Whole pictures are decoded then. What "
             "follows may crop, flip, resize, normalize (of 65535) and cast; .color_jitter wants 8 bits."},
            {"max_pixels", ArgType::kInt, false, 100'000'000, "larger pictures are Unsupported", ArgForm::kNamed},
            lists_arg(kPicture)},
       .random = false,
       .infer = infer_decode_image,
       .compile = compile_decode_image,
       .sizes = SizeEffect::kByHeader,
       .uses = decode_image_uses});
}

}  // namespace forebay
