#include "ops/image_size.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/encoded_fields.h"
#include "ops/image/image_limits.h"
#include "ops/image/lazy_image.h"

// The step with which passes end that measure pictures.

namespace forebay {
namespace {

struct PictureSize {
  int64_t height = 0, width = 0;
  SizeState state = SizeState::kKnown;
};

// Sizes that are not handled are left to the pass that reads whole files, which reports them.
PictureSize size_in_head(std::span<const uint8_t> head, int64_t max_pixels) {
  const std::optional<ImageHead> found = probe_image_head(head);
  if (!found || !check_within(found->stored_width, found->stored_height, max_pixels).ok())
    return {0, 0, SizeState::kNotRead};
  const bool turned = found->orientation.value_or(1) >= 5;
  return {turned ? found->stored_width : found->stored_height, turned ? found->stored_height : found->stored_width,
          found->orientation ? SizeState::kKnown : SizeState::kEither};
}

class ImageSize final : public RecordOp {
 public:
  ImageSize(size_t field, bool channels_first, int64_t max_pixels, int64_t head_bytes)
      : field_(field), channels_first_(channels_first), max_pixels_(max_pixels), head_bytes_(head_bytes) {}

  Status apply(Record& record, const SampleContext&) const override {
    Value& value = record[field_];
    FOREBAY_ASSIGN(const PictureSize size, size_of(value));
    Tensor made = Tensor::allocate(DType::kInt64, Shape{3});
    const int64_t numbers[] = {size.height, size.width, static_cast<int64_t>(size.state)};
    std::ranges::copy(numbers, made.data<int64_t>());
    value = Value::of(std::move(made));
    return {};
  }

 private:
  Result<PictureSize> size_of(const Value& value) const {
    const bool decoded = value.kind == FieldKind::kTensor && value.shape().rank() > 1;
    return decoded ? size_of_pixels(value.shape()) : size_of_encoded(value);
  }

  Result<PictureSize> size_of_pixels(const Shape& shape) const {
    if (shape.rank() > 3) return unsupported("a list of pictures has no size");
    const size_t first = shape.rank() == 3 && channels_first_ ? 1 : 0;
    return PictureSize{shape[first], shape[first + 1]};
  }

  Result<PictureSize> size_of_encoded(const Value& value) const {
    FOREBAY_ASSIGN(const Buffer bytes, encoded_bytes(value, {"image", "image_size", "picture", "pictures"}));
    if (static_cast<int64_t>(bytes.size()) == head_bytes_) return size_in_head(bytes.span(), max_pixels_);
    // A file that is shorter is whole. Damaged ones are read again, by a pass that reports them.
    const Result<ImageInfo> info = probe_within(bytes.span(), max_pixels_);
    if (!info.ok() && head_bytes_ > 0) return PictureSize{0, 0, SizeState::kNotRead};
    if (!info.ok()) return info.status();
    return PictureSize{info->height(), info->width()};
  }

  size_t field_;
  bool channels_first_;
  int64_t max_pixels_, head_bytes_;
};

void infer_image_size(const Args& args, Schema& schema, Problems& problems) {
  for (const size_t index : check_fields(std::vector{args.text("field")}, schema, problems)) {
    Field made;
    made.name = schema[index].name;
    made.dtype = DType::kInt64;
    made.shape = Shape{3};
    schema[index] = std::move(made);
  }
}

Result<std::unique_ptr<RecordOp>> compile_image_size(const Args& args, const Schema& before, uint32_t) {
  const size_t index = *before.find(args.text("field"));
  return std::unique_ptr<RecordOp>(std::make_unique<ImageSize>(index, before[index].channels_first,
                                                               args.integer("max_pixels"), args.integer("head_bytes")));
}

}  // namespace

OpDef image_size_op() {
  OpDef def = make_op(
      {.name = "image_size",
       .group = OpGroup::kImage,
       .help = "The size of a picture in its place: int64 (3,), the height, the width, and 1. The last is 2 if its two "
               "sides may be exchanged, and 0 if neither is known: only the first bytes were there.",
       .args = {{"field", ArgType::kText, true, nullptr, "a picture, encoded or not"},
                {"max_pixels", ArgType::kInt, false, 0, "larger encoded pictures are Unsupported"},
                {"head_bytes", ArgType::kInt, false, 0, "an encoded picture of that many bytes is cut off there"}},
       .infer = infer_image_size,
       .compile = compile_image_size});
  def.made_by_sources = true;
  return def;
}

}  // namespace forebay
