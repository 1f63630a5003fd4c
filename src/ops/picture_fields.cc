#include "ops/picture_fields.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/columns.h"
#include "ops/image/picture_list.h"

namespace forebay {
namespace {

std::optional<Interpolation> interpolation_of(const Json& name) {
  if (name == "bilinear") return Interpolation::kBilinear;
  if (name == "nearest") return Interpolation::kNearest;
  return std::nullopt;
}

// The interpolation is one word for all fields, or an object with words for some fields.
Interpolation interpolation_for(const Args& args, const std::string& field) {
  const Json& value = args.json("interpolation");
  if (value.is_object()) {
    const auto found = value.find(field);
    return found == value.end() ? Interpolation::kBilinear
                                : interpolation_of(*found).value_or(Interpolation::kBilinear);
  }
  return interpolation_of(value).value_or(Interpolation::kBilinear);
}

bool is_picture_shape(const Field& field) {
  const Shape shape = picture_shape(field);
  if (shape.rank() == 2) return true;
  if (shape.rank() != 3) return false;
  return shape[field.channels_first ? 0 : 2] <= kMaxChannels;
}

bool check_kind(const Field& field, std::string_view op, Problems& problems) {
  switch (field.kind) {
    case FieldKind::kAny: return true;
    case FieldKind::kBytes:
      problems.add(
          fmt::format("the field '{}' is still encoded", field.name),
          fmt::format("put .decode_image({}) before .{}",
                      field.name == "image" || field.name == "bytes" ? "" : fmt::format("field=\"{}\"", field.name),
                      op));
      return false;
    case FieldKind::kText:
    case FieldKind::kBytesList:
    case FieldKind::kTextList:
      problems.add(fmt::format("the field '{}' is {}, not a picture", field.name, field.type_word()),
                   "name a field that holds a picture");
      return false;
    case FieldKind::kTensor: break;
  }
  if (is_picture_shape(field)) return true;
  problems.add(fmt::format("the field '{}' is no picture: its shape is {}", field.name, field.shape.to_string()),
               "pictures are (height, width) or (height, width, channels) with up to 4 channels");
  return false;
}

bool check_bits(const Field& field, PixelNeed need, std::string_view op, Problems& problems) {
  if (need == PixelNeed::kAny || field.kind != FieldKind::kTensor || field.dtype == DType::kUint8) return true;
  if (need == PixelNeed::kWhole && field.dtype == DType::kUint16) return true;
  problems.add(
      fmt::format("{} works on 8-bit pixels, and the field '{}' is {} here", op, field.name, dtype_name(field.dtype)),
      field.normalized ? fmt::format("put .{} before .normalize", op)
                       : fmt::format("put .{} before .cast, or .cast(\"uint8\") before .{}", op, op));
  return false;
}

Buffer zeroed(size_t bytes) {
  Buffer made = Buffer::allocate(bytes);
  std::fill_n(made.data(), bytes, uint8_t{0});
  return made;
}

Result<std::unique_ptr<Deferred>> described(Tensor pixels, bool channels_first) {
  FOREBAY_ASSIGN(auto made, LazyImage::of_pixels(std::move(pixels), channels_first));
  return std::unique_ptr<Deferred>(std::move(made));
}

// Converts the pixels of (n, height, width, channels).
Result<std::unique_ptr<Deferred>> described_list(const Tensor& pixels, bool channels_first) {
  Shape shape;
  for (size_t axis = 1; axis < pixels.shape.rank(); ++axis) shape.push_back(pixels.shape[axis]);
  const bool stands_in = pixels.shape[0] == 0;
  const size_t bytes = static_cast<size_t>(shape.elements()) * dtype_size(pixels.dtype);
  std::vector<std::unique_ptr<Deferred>> all;
  for (int64_t i = 0; i < std::max<int64_t>(pixels.shape[0], 1); ++i) {
    Tensor one = {pixels.dtype, shape,
                  stands_in ? zeroed(bytes) : pixels.buffer.slice(static_cast<size_t>(i) * bytes, bytes)};
    FOREBAY_ASSIGN(all.emplace_back(), described(std::move(one), channels_first));
  }
  return std::unique_ptr<Deferred>(std::make_unique<PictureList>(std::move(all), stands_in));
}

// Makes the value one that operators can change.
Status describe(Value& value, const PictureField& field, WorkMemory& memory) {
  if (is_described(value)) return {};
  if (value.kind != FieldKind::kTensor) return unsupported(fmt::format("the field '{}' holds no picture", field.name));
  FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  const bool list = value.tensor.shape.rank() == 4;
  FOREBAY_ASSIGN(auto made, list ? described_list(value.tensor, field.channels_first)
                                 : described(value.tensor, field.channels_first));
  value = Value::of(std::move(made));
  return {};
}

}  // namespace

ArgDef field_arg(std::string help) {
  return {"field", ArgType::kFields, false, "image", std::move(help), ArgForm::kNamed};
}

ArgDef interpolation_arg() {
  return {"interpolation",
          ArgType::kTextByField,
          false,
          "bilinear",
          "\"bilinear\" (anti-aliased, always) or \"nearest\"; or {field: one of them} where fields differ, as a mask "
          "does from its picture",
          ArgForm::kNamed};
}

ArgDef crop_size_arg() {
  return {"n", ArgType::kSize, true, nullptr, "pixels of the result; one number for a square, or (height, width)"};
}

std::vector<size_t> check_pictures(const Args& args, PixelNeed need, std::string_view op, Schema& schema,
                                   Problems& problems) {
  std::vector<size_t> fields;
  const std::vector<std::string> names = args.names("field");
  if (names.empty()) problems.add("field names no field", "leave it out for 'image', or name one");
  for (const size_t index : check_fields(names, schema, problems)) {
    Field& field = schema[index];
    // Two pointers to one picture would apply every change twice.
    if (std::find(fields.begin(), fields.end(), index) != fields.end()) {
      problems.add(fmt::format("the field '{}' is named twice", field.name), "name it once");
    } else if (check_kind(field, op, problems) && check_bits(field, need, op, problems)) {
      field.image = true;
      fields.push_back(index);
    }
  }
  return fields;
}

void check_size(const Args& args, std::string_view name, Problems& problems) {
  const Size size = args.size(name);
  if (std::min(size.height, size.width) >= 1 && std::max(size.height, size.width) <= kMaxSide) return;
  problems.add(fmt::format("{} is {}", name, json_text(args.json(name))),
               fmt::format("give sides from 1 to {} pixels", kMaxSide));
}

void check_interpolation(const Args& args, std::span<const size_t> fields, const Schema& schema, Problems& problems) {
  const Json& value = args.json("interpolation");
  const std::vector<std::string> names = args.names("field");
  auto check_word = [&](const Json& word) {
    if (!interpolation_of(word)) {
      problems.add(fmt::format("unknown interpolation {}", json_text(word)),
                   "give \"bilinear\" (anti-aliased) or \"nearest\"");
    }
  };
  if (!value.is_object()) check_word(value);
  if (value.is_object()) {
    for (const auto& [name, word] : value.items()) {
      check_word(word);
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      problems.add(fmt::format("interpolation names '{}', which this operator does not work on", name),
                   "its fields are " + quoted_list(names));
    }
  }
  for (const size_t index : fields) {
    const Field& field = schema[index];
    if (field.kind != FieldKind::kTensor || field.dtype == DType::kUint8 || field.dtype == DType::kUint16) continue;
    if (interpolation_for(args, field.name) == Interpolation::kNearest) continue;
    problems.add(fmt::format("bilinear interpolation works on 8-bit pixels, and the field '{}' is {} here", field.name,
                             dtype_name(field.dtype)),
                 field.normalized
                     ? "put .normalize after it"
                     : fmt::format("put .cast after it, or give interpolation={{\"{}\": \"nearest\"}}", field.name));
  }
}

Shape picture_shape(const Field& field) {
  if (!is_picture_list(field)) return field.shape;
  return {field.shape[1], field.shape[2], field.shape[3]};
}

void set_picture_shape(Field& field, const Shape& shape) {
  field.shape = is_picture_list(field) ? Shape{field.shape[0], shape[0], shape[1], shape[2]} : shape;
}

void set_size(Schema& schema, std::span<const size_t> fields, Size size) {
  for (const size_t index : fields) {
    Field& field = schema[index];
    if (field.kind != FieldKind::kTensor) continue;
    Shape shape = picture_shape(field);
    const size_t first = shape.rank() == 3 && field.channels_first ? 1 : 0;
    shape[first] = size.height;
    shape[first + 1] = size.width;
    set_picture_shape(field, shape);
  }
}

std::vector<PictureField> picture_fields(const Args& args, const Schema& before) {
  std::vector<PictureField> fields;
  for (const std::string& name : args.names("field")) {
    const auto index = before.find(name);
    if (!index) continue;
    const Field& field = before[*index];
    fields.push_back({*index, name, field.channels_first, interpolation_for(args, name)});
  }
  return fields;
}

bool is_described(const Value& value) {
  return dynamic_cast<LazyImage*>(value.deferred.get()) != nullptr ||
         dynamic_cast<PictureList*>(value.deferred.get()) != nullptr;
}

Result<std::vector<SamplePicture>> pictures(Record& record, std::span<const PictureField> fields, WorkMemory& memory) {
  std::vector<SamplePicture> found;
  found.reserve(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    Value& value = record[fields[i].index];
    FOREBAY_RETURN_IF_ERROR(describe(value, fields[i], memory));
    auto* const list = dynamic_cast<PictureList*>(value.deferred.get());
    if (list == nullptr) {
      found.push_back({static_cast<LazyImage*>(value.deferred.get()), i});
      continue;
    }
    for (const auto& picture : list->pictures())
      found.push_back({static_cast<LazyImage*>(picture.get()), i, list->stands_in()});
  }
  // The time of deferred work is booked to the step that requested it.
  for (const SamplePicture& picture : found) picture.image->set_step(memory.meter().current());
  return found;
}

Result<Size> common_size(std::span<const SamplePicture> pictures, std::span<const PictureField> fields, Size of_none) {
  const SamplePicture* first = nullptr;
  for (const SamplePicture& picture : pictures) {
    if (picture.stands_in) continue;
    if (first == nullptr) first = &picture;
    const LazyImage &one = *first->image, &other = *picture.image;
    if (one.height() == other.height() && one.width() == other.width()) continue;
    const std::string sizes[] = {size_text(one.height(), one.width()), size_text(other.height(), other.width())};
    if (first->field == picture.field)
      return unsupported(
          fmt::format("the pictures of '{}' are {} and {}; pictures that share one crop must be of one "
                      "size, as .resize(size) makes them",
                      fields[first->field].name, sizes[0], sizes[1]));
    return unsupported(fmt::format("'{}' is {} pixels and '{}' is {}; fields that share one crop must be of one size",
                                   fields[first->field].name, sizes[0], fields[picture.field].name, sizes[1]));
  }
  return first == nullptr ? of_none : Size{first->image->height(), first->image->width()};
}

std::string size_text(int64_t height, int64_t width) { return fmt::format("{} × {}", width, height); }

}  // namespace forebay
