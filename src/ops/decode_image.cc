#include <algorithm>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/image/lazy_image.h"

namespace forebay {
namespace {

// Positions in a row are kept in 32 bits.
constexpr int64_t kMaxStoredSide = int64_t{1} << 28;

// Without `field` it is the encoded one of these.
constexpr std::string_view kDefaults[] = {"image", "bytes"};

bool holds_bytes(const Field& field) {
  if (field.kind == FieldKind::kBytes || field.kind == FieldKind::kAny) return true;
  // User code gives and takes bytes as tensors.
  return field.kind == FieldKind::kTensor && field.dtype == DType::kUint8 && field.shape.rank() == 1;
}

std::vector<std::string> wanted_fields(const Args& args, const Schema& schema) {
  std::vector<std::string> names = args.names("field");
  if (!names.empty()) return names;
  for (const std::string_view name : kDefaults) {
    const auto index = schema.find(name);
    if (index && holds_bytes(schema[*index])) return {std::string(name)};
  }
  return {};
}

void no_default(const Schema& schema, Problems& problems) {
  const auto image = schema.find("image");
  if (image && schema[*image].kind == FieldKind::kTensor) {
    return problems.add(fmt::format("the field 'image' is decoded already: {}", schema[*image].to_string()),
                        "take this .decode_image() out");
  }
  problems.add(fmt::format("there is no encoded field 'image' or 'bytes'; the fields here are {}", schema.names()),
               "name the field: .decode_image(field=...)");
}

// `bytes` becomes `image`; every other field keeps its name.
void decode_field(const std::string& name, ColorMode mode, Schema& schema, Problems& problems) {
  const auto index = schema.find(name);
  if (!index) {
    return problems.add(fmt::format("there is no field '{}'; the fields here are {}", name, schema.names()),
                        "name a field of encoded pictures");
  }
  Field& field = schema[*index];
  if (!holds_bytes(field)) {
    const bool decoded = field.kind == FieldKind::kTensor;
    return problems.add(decoded ? fmt::format("the field '{}' is decoded already: {}", name, field.to_string())
                                : fmt::format("the field '{}' is {}", name, field.type_word()),
                        decoded ? "take this .decode_image() out" : "name a field of encoded pictures");
  }
  if (name == "bytes") {
    if (schema.find("image")) {
      return problems.add("'bytes' would become 'image', and there is a field 'image' already",
                          "rename or drop one of them before: .rename(image=...)");
    }
    field.name = "image";
  }
  field.kind = FieldKind::kTensor;
  field.dtype = DType::kUint8;
  field.shape = {Shape::kUnknown, Shape::kUnknown, channels(mode)};
  field.image = true;
  field.channels_first = false;
}

class DecodeImage final : public RecordOp {
 public:
  DecodeImage(std::vector<size_t> fields, ColorMode mode, int64_t max_pixels)
      : fields_(std::move(fields)), mode_(mode), max_pixels_(max_pixels) {}

  Status apply(Record& record, const SampleContext& context) const override {
    const int step = context.memory->meter().current();
    for (const size_t field : fields_) FOREBAY_RETURN_IF_ERROR(decode(record[field], step));
    return {};
  }

 private:
  Status decode(Value& value, int step) const {
    Buffer bytes = value.kind == FieldKind::kTensor ? value.tensor.buffer : value.bytes;
    const bool encoded =
        value.kind == FieldKind::kBytes || (value.kind == FieldKind::kTensor && !value.deferred &&
                                            value.tensor.dtype == DType::kUint8 && value.tensor.shape.rank() == 1);
    if (!encoded) return unsupported("the value is not an encoded picture");
    FOREBAY_ASSIGN(const ImageInfo info, probe_image(bytes.span()));
    if (std::max(info.stored_width, info.stored_height) > kMaxStoredSide) {
      return unsupported(fmt::format("{} × {} pixels; sides of up to {} are handled", info.stored_width,
                                     info.stored_height, kMaxStoredSide));
    }
    // Compared without multiplying: the header may say anything.
    if (info.stored_width > max_pixels_ / std::max<int64_t>(info.stored_height, 1)) {
      return unsupported(fmt::format("{} × {} pixels are more than max_pixels={}; raise max_pixels to decode it",
                                     info.stored_width, info.stored_height, max_pixels_));
    }
    value = Value::of(std::unique_ptr<Deferred>(LazyImage::of_encoded(std::move(bytes), info, mode_, step)));
    return {};
  }

  std::vector<size_t> fields_;
  ColorMode mode_;
  int64_t max_pixels_;
};

ColorMode color_mode(const Args& args) { return args.text("mode") == "gray" ? ColorMode::kGray : ColorMode::kRgb; }

void infer_decode_image(const Args& args, Schema& schema, Problems& problems) {
  const std::string mode = args.text("mode");
  if (mode != "rgb" && mode != "gray") problems.add(fmt::format("unknown mode '{}'", mode), "give \"rgb\" or \"gray\"");
  if (args.integer("max_pixels") < 1)
    problems.add("max_pixels is not positive", "give the most pixels a picture may have");
  const std::vector<std::string> names = wanted_fields(args, schema);
  if (names.empty()) no_default(schema, problems);
  for (const std::string& name : names) decode_field(name, color_mode(args), schema, problems);
}

// Where user code makes the fields it is the one that a sample has.
FieldUse decode_image_uses(const OpSpec& spec, const Schema& before) {
  std::vector<std::string> names;
  if (const auto field = spec.args.find("field"); field != spec.args.end()) names = field_list(*field);
  const bool by_default = names.empty();
  for (size_t i = 0; names.empty() && i < std::size(kDefaults); ++i) {
    const auto index = before.find(kDefaults[i]);
    if (index && holds_bytes(before[*index])) names.emplace_back(kDefaults[i]);
  }
  if (names.empty()) names.emplace_back(kDefaults[0]);
  const auto there = before.find(names.front());
  FieldUse use{names, names};
  if (by_default && (!there || before[*there].has_stand_in)) use.or_else = kDefaults[1];
  for (std::string& name : use.makes) {
    if (name == "bytes") name = "image";
  }
  return use;
}

Result<std::unique_ptr<RecordOp>> compile_decode_image(const Args& args, const Schema& before, uint32_t) {
  std::vector<size_t> fields;
  for (const std::string& name : wanted_fields(args, before)) fields.push_back(*before.find(name));
  return std::unique_ptr<RecordOp>(
      std::make_unique<DecodeImage>(std::move(fields), color_mode(args), args.integer("max_pixels")));
}

}  // namespace

OpDef decode_image_op() {
  return make_op(
      {.name = "decode_image",
       .help = "Encoded bytes (JPEG, PNG, WebP, BMP) to 8-bit pixels, upright.",
       .args = {{"field", ArgType::kFields, false, Json::array(),
                 "the encoded fields; 'image' or else 'bytes' where none is named. 'bytes' becomes 'image'",
                 ArgForm::kNamed},
                {"mode", ArgType::kText, false, "rgb", "\"rgb\" or \"gray\""},
                {"max_pixels", ArgType::kInt, false, 100'000'000, "larger pictures are Unsupported", ArgForm::kNamed}},
       .random = false,
       .infer = infer_decode_image,
       .compile = compile_decode_image,
       .uses = decode_image_uses});
}

}  // namespace forebay
