#include <algorithm>

#include <fmt/format.h>

#include "base/columns.h"
#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/image/patches.h"
#include "ops/image/picture_list.h"
#include "ops/image/wide_pixels.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

constexpr const char* kPatches = "patches";
constexpr const char* kGrid = "grid";
// The limits of Qwen2-VL.
constexpr int64_t kMinPixels = 56 * 56, kMaxPixels = 28 * 28 * 1280;

bool can_be_resized(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kUint16 || dtype == DType::kFloat32;
}

/// The grids of pictures: (2,) of one, (n, 2) of a list.
Tensor grid_tensor(std::span<const PatchGrid> grids, bool list) {
  const auto count = static_cast<int64_t>(grids.size());
  Tensor made = Tensor::allocate(DType::kInt32, list ? Shape{count, 2} : Shape{2});
  for (size_t i = 0; i < grids.size(); ++i) {
    made.data<int32_t>()[2 * i] = static_cast<int32_t>(grids[i].rows);
    made.data<int32_t>()[2 * i + 1] = static_cast<int32_t>(grids[i].columns);
  }
  return made;
}

class Patchify final : public RecordOp {
 public:
  Patchify(PictureField field, const PatchLayout& layout) : fields_{std::move(field)}, layout_(layout) {}

  Status apply(Record& record, const SampleContext& context) const override {
    WorkMemory& memory = *context.memory;
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, memory));
    Value& value = record[fields_[0].index];
    auto* const list = dynamic_cast<PictureList*>(value.deferred.get());
    const auto places = list != nullptr ? list->pictures() : std::span(&value.deferred, 1);
    std::vector<PatchGrid> grids;
    for (size_t i = 0; i < places.size(); ++i) {
      FOREBAY_ASSIGN(grids.emplace_back(), layout_.grid_of(images[i].image->height(), images[i].image->width()));
      FOREBAY_RETURN_IF_ERROR(fit(*images[i].image, grids[i], places[i], memory));
    }
    std::vector<std::unique_ptr<Deferred>> cut;
    for (size_t i = 0; i < places.size(); ++i) {
      static_cast<LazyImage&>(*places[i]).set_layout(/*channels_first=*/true);
      cut.push_back(std::make_unique<CutPicture>(std::move(places[i]), layout_, grids[i], memory.meter().current()));
    }
    const bool none = list != nullptr && list->stands_in();
    if (none) grids.clear();
    record.push_back(Value::of(grid_tensor(grids, list != nullptr)));
    if (none)
      record[fields_[0].index] = Value::of(Tensor::allocate(cut[0]->dtype(), Shape{0, cut[0]->shape()[1]}));
    else if (list != nullptr)
      record[fields_[0].index] = Value::of(std::make_unique<JoinedTensors>(std::move(cut)));
    else
      record[fields_[0].index] = Value::of(std::move(cut[0]));
    return {};
  }

 private:
  /// Resizes the picture at `place` to the size of the grid.
  Status fit(LazyImage& image, const PatchGrid& grid, std::unique_ptr<Deferred>& place, WorkMemory& memory) const {
    const int64_t height = grid.rows * layout_.patch, width = grid.columns * layout_.patch;
    if (!can_be_resized(image.dtype())) {
      return unsupported(fmt::format("patchify works on uint8, uint16 and float32 pixels, and this picture is {}",
                                     dtype_name(image.dtype())));
    }
    if (height == image.height() && width == image.width()) return {};
    if (image.dtype() != DType::kFloat32) return image.resize(height, width, Interpolation::kBilinear, memory);
    image.set_layout(/*channels_first=*/false);
    FOREBAY_ASSIGN(const Tensor* const pixels, image.pixels(memory));
    FOREBAY_ASSIGN(Tensor made, resize_wide({*pixels, false}, height, width, memory));
    FOREBAY_ASSIGN(auto resized, LazyImage::of_pixels(std::move(made), false));
    place = std::move(resized);
    return {};
  }

  const std::vector<PictureField> fields_;  ///< one
  const PatchLayout layout_;
};

PatchLayout patch_layout(const Args& args) {
  return {.patch = args.integer("patch"),
          .merge = args.integer("merge"),
          .min_pixels = args.integer("min_pixels"),
          .max_pixels = args.integer("max_pixels")};
}

/// Returns whether the layout can be used.
bool check_layout(const PatchLayout& layout, Problems& problems) {
  bool sides = true;
  for (const auto& [name, value] : {std::pair("patch", layout.patch), std::pair("merge", layout.merge)}) {
    if (value >= 1 && value <= kMaxSide) continue;
    problems.add(fmt::format("{} is {}", name, value), fmt::format("give a whole number from 1 to {}", kMaxSide));
    sides = false;
  }
  if (layout.max_pixels < 1 || layout.max_pixels > kMaxMadePixels) {
    problems.add(fmt::format("max_pixels is {}", layout.max_pixels),
                 fmt::format("give a number of pixels from 1 to {}", kMaxMadePixels));
    return false;
  }
  if (layout.min_pixels < 1 || layout.min_pixels > layout.max_pixels) {
    problems.add(fmt::format("min_pixels is {}, and max_pixels {}", layout.min_pixels, layout.max_pixels),
                 "give a number of pixels from 1 to max_pixels");
    return false;
  }
  // Both sides are at most 2^20, so nothing overflows.
  const int64_t group = layout.patch * layout.merge;
  if (!sides || (group <= kMaxSide && group * group <= layout.max_pixels)) return sides;
  problems.add(fmt::format("{} × {} patches of {} × {} pixels are more than max_pixels={}", layout.merge, layout.merge,
                           layout.patch, layout.patch, layout.max_pixels),
               "give a larger max_pixels, or smaller patches");
  return false;
}

/// The shape of the patches, as far as it is known without a sample.
Shape patches_shape(const Field& picture, const PatchLayout& layout) {
  const Shape shape = picture_shape(picture);
  const bool planes = shape.rank() == 3 && picture.channels_first;
  const int64_t channels = shape.rank() == 2 ? 1 : shape[planes ? 0 : 2];
  const int64_t height = shape[planes ? 1 : 0], width = shape[planes ? 2 : 1];
  Shape made{Shape::kUnknown, channels == Shape::kUnknown ? channels : channels * layout.patch * layout.patch};
  if (height == Shape::kUnknown || width == Shape::kUnknown || is_picture_list(picture)) return made;
  if (const Result<PatchGrid> grid = layout.grid_of(height, width); grid.ok()) made[0] = grid->count();
  return made;
}

void set_patches(const PatchLayout& layout, Field& field) {
  Field made;
  made.name = kPatches;
  made.kind = field.kind;
  made.dtype = field.dtype;
  made.normalized = field.normalized;
  if (field.kind == FieldKind::kTensor) made.shape = patches_shape(field, layout);
  field = std::move(made);
}

Field grid_field(bool list) {
  Field field;
  field.name = kGrid;
  field.dtype = DType::kInt32;
  field.shape = list ? Shape{Shape::kUnknown, 2} : Shape{2};
  return field;
}

void infer_patchify(const Args& args, Schema& schema, Problems& problems) {
  const PatchLayout layout = patch_layout(args);
  const bool usable = check_layout(layout, problems);
  const std::vector<size_t> fields = check_pictures(args, PixelNeed::kAny, "patchify", schema, problems);
  const std::string name = args.text("field");
  for (const char* const made : {kPatches, kGrid}) {
    if (schema.find(made) && name != made)
      return problems.add(fmt::format("there is a field '{}' already", made),
                          "give it another name with .rename before");
  }
  if (!usable || fields.empty()) return;
  Field& field = schema[fields[0]];
  if (field.kind == FieldKind::kTensor && !can_be_resized(field.dtype)) {
    problems.add(fmt::format("patchify works on uint8, uint16 and float32 pixels, and the field '{}' is {} here",
                             field.name, dtype_name(field.dtype)),
                 "put .cast after .patchify, with field=\"patches\"");
  }
  const bool list = is_picture_list(field);
  set_patches(layout, field);
  schema.push_back(grid_field(list));
}

Result<std::unique_ptr<RecordOp>> compile_patchify(const Args& args, const Schema& before, uint32_t) {
  return std::unique_ptr<RecordOp>(
      std::make_unique<Patchify>(picture_fields(args, before).front(), patch_layout(args)));
}

FieldUse patchify_uses(const OpSpec& spec, const Schema&) {
  const Json given = spec.args.value("field", Json("image"));
  return {{given.is_string() ? given.get<std::string>() : "image"}, {kPatches, kGrid}};
}

}  // namespace

OpDef patchify_op() {
  return make_op(
      {.name = "patchify",
       .group = OpGroup::kImage,
       .help =
           R"(Cuts pictures of any size into square patches for a vision transformer: the field becomes `patches`, (n, channels * patch * patch), ragged, and `grid`, int32 (2,), has the rows and columns of patches.

The picture is first resized to multiples of `patch * merge` within the limits of pixels, as `smart_resize` of Qwen2-VL in Hugging Face
transformers does: each side is rounded to a multiple of `f = patch * merge`. If that is more than `max_pixels`, the sides are
`floor(side / b / f) * f` with `b = sqrt(height * width / max_pixels)`, at least one group; if less than `min_pixels`,
`ceil(side * b / f) * f` with `b = sqrt(min_pixels / (height * width))`. The resize is bilinear, anti-aliased (Qwen2-VL's own is bicubic). After
`.normalize` it works on the normalized pixels.

The order of patches is Qwen2-VL's: groups of `merge * merge` neighbours, row by row; in a patch all pixels of a channel, then of the next. Pictures
of one known size give as many patches each and stack.

Of a list of pictures, each is cut. `patches` has those of all pictures of the sample one after the other, and `grid`, (pictures, 2), a row for each.

Unsupported for a picture of which one side is more than 200 times as long as the other.)",
       .args = {{"patch", ArgType::kInt, true, nullptr, "side of a patch in pixels"},
                {"merge", ArgType::kInt, false, 1,
                 "patches that a model merges in each direction, 2 for Qwen2-VL: they are neighbours in `patches`",
                 ArgForm::kNamed},
                {"min_pixels", ArgType::kInt, false, kMinPixels, "smaller pictures are enlarged", ArgForm::kNamed},
                {"max_pixels", ArgType::kInt, false, kMaxPixels, "larger pictures are reduced", ArgForm::kNamed},
                {"field", ArgType::kText, false, "image", "the picture's field", ArgForm::kNamed}},
       .infer = infer_patchify,
       .compile = compile_patchify,
       .sizes = SizeEffect::kBySizes,
       .uses = patchify_uses});
}

}  // namespace forebay
