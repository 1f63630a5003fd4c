#include "ops/image/lazy_image.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "ops/image/cast_elements.h"
#include "ops/image/gather.h"
#include "ops/image/wide_pixels.h"

namespace forebay {
namespace {

// Scratch slots: one for the resampler's tables and rows, then two for the source.
constexpr int kResamplerSlot = 0;
constexpr int kSourceSlot = 1;

Rect intersection(const Rect& a, const Rect& b) {
  const int64_t x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  return {x, y, std::min(a.x + a.width, b.x + b.width) - x, std::min(a.y + a.height, b.y + b.height) - y};
}

Status check_pixels(const Tensor& tensor, bool channels_first) {
  const Shape& shape = tensor.shape;
  const std::string text = shape.to_string();
  if (shape.rank() != 2 && shape.rank() != 3) {
    return unsupported(fmt::format("a tensor of shape {} is not a picture: (height, width) or three axes are", text));
  }
  // A quarter of 2^31: positions in a row are 32 bits wide and a pixel has up to four channels.
  for (const int64_t dim : shape) {
    if (dim < 1 || dim > std::numeric_limits<int32_t>::max() / 4) {
      return unsupported(fmt::format("a picture of shape {} has no pixels or too many", text));
    }
  }
  const int64_t channels = shape.rank() == 2 ? 1 : shape[channels_first ? 0 : 2];
  if (channels > kMaxChannels) {
    return unsupported(fmt::format("a picture of shape {} has {} channels; up to {} are handled{}", text, channels,
                                   kMaxChannels, channels_first ? "" : ", last in the shape"));
  }
  return {};
}

// Books the time that the sink spends on each row to `step`, not to the step that decodes.
class BookedRows final : public RowSink {
 public:
  BookedRows(RowSink& sink, StepMeter& meter, int step) : sink_(sink), meter_(meter), step_(step) {}
  void row(const uint8_t* row) override {
    const StepSpan span(meter_, step_);
    sink_.row(row);
  }

 private:
  RowSink& sink_;
  StepMeter& meter_;
  const int step_;
};

}  // namespace

LazyImage::LazyImage(PixelSource source) : source_(std::move(source)) { clear_changes(); }

void LazyImage::reset_to(PixelSource source) {
  source_ = std::move(source);
  clear_changes();
}

void LazyImage::clear_changes() {
  crop_ = window_ = {0, 0, source_.width(), source_.height()};
  flip_before_resize_ = flip_after_resize_ = normalized_ = false;
  resize_.reset();
  dtype_ = source_.dtype();
  // All work belongs to the current step until a later step requests a change.
  decode_step_ = geometry_step_ = value_step_ = step_;
}

std::unique_ptr<LazyImage> LazyImage::of_encoded(Buffer bytes, const ImageInfo& info, ColorMode mode, int step) {
  std::unique_ptr<LazyImage> image(new LazyImage(PixelSource(EncodedPixels{std::move(bytes), info, mode})));
  image->decode_step_ = step;
  return image;
}

std::unique_ptr<LazyImage> LazyImage::of_unread(const UnreadPixels& unread) {
  return std::unique_ptr<LazyImage>(new LazyImage(PixelSource(unread)));
}

Result<std::unique_ptr<LazyImage>> LazyImage::of_pixels(Tensor pixels, bool channels_first) {
  FOREBAY_RETURN_IF_ERROR(check_pixels(pixels, channels_first));
  const bool channel_axis = pixels.shape.rank() == 3;
  std::unique_ptr<LazyImage> image(new LazyImage(PixelSource(TensorPixels{std::move(pixels), channels_first})));
  image->channels_first_ = channels_first;
  image->channel_axis_ = channel_axis;
  return image;
}

Shape LazyImage::shape() const {
  if (!channel_axis_) return {height(), width()};
  return channels_first_ ? Shape{channels(), height(), width()} : Shape{height(), width(), channels()};
}

Rect LazyImage::resized() const {
  return resize_ ? Rect{0, 0, resize_->width, resize_->height} : Rect{0, 0, crop_.width, crop_.height};
}

bool LazyImage::extends_outside(const Rect& part) const {
  return intersection(part, {0, 0, width(), height()}) != part;
}

Status LazyImage::crop(const Rect& part, WorkMemory& memory) {
  // The zeros that this crop adds must begin at the edge of the current picture and must not be
  // scaled. After an earlier crop or normalize() the description cannot say that, so the pixels are
  // computed first.
  if (extends_outside(part) && (normalized_ || window_ != resized())) FOREBAY_RETURN_IF_ERROR(compute_pixels(memory));
  // The window is in coordinates before the final mirror: in a mirrored picture part.x counts from
  // the right.
  const int64_t x = flip_after_resize_ ? window_.width - part.x - part.width : part.x;
  window_ = {window_.x + x, window_.y + part.y, part.width, part.height};
  // The resampler of a resize crops on the way, so the time stays with the step of the resize.
  if (!resize_) geometry_step_ = step_;
  return {};
}

void LazyImage::flip() {
  flip_after_resize_ = !flip_after_resize_;
  if (!resize_) geometry_step_ = step_;
}

Status LazyImage::require_eight_bits(std::string_view what, WorkMemory& memory) {
  if (dtype_ != DType::kUint8) {
    return invalid_argument(fmt::format("{} works on 8-bit pixels and this picture is {}", what, dtype_name(dtype_)));
  }
  return source_.dtype() == DType::kUint8 && !normalized_ ? Status() : compute_pixels(memory);
}

Status LazyImage::resize(int64_t height, int64_t width, Interpolation interpolation, WorkMemory& memory) {
  const bool wide = dtype_ == DType::kUint16;
  if (interpolation == Interpolation::kBilinear && source_.indices())
    return invalid_argument(
        "these pixels are indices of a palette (mode=\"palette\"), and bilinear interpolation would mix two indices "
        "into a third; give interpolation=\"nearest\", or interpolation={\"mask\": \"nearest\"} where pictures share "
        "the draw");
  if (interpolation == Interpolation::kBilinear && !wide) FOREBAY_RETURN_IF_ERROR(require_eight_bits("resize", memory));
  // A resize to the same size changes no byte, so nothing has to be computed.
  if (height == this->height() && width == this->width()) return {};
  if (interpolation == Interpolation::kBilinear && wide && !source_.unread()) {
    FOREBAY_RETURN_IF_ERROR(compute_pixels(memory));
    FOREBAY_ASSIGN(Tensor made, resize_wide(*source_.pixels(), height, width, memory));
    reset_to(PixelSource(TensorPixels{std::move(made), false}));
    return {};
  }
  // A second resize needs the rounded pixels of the first. A resize after a padding crop has to
  // include the zeros.
  if (resize_ || intersection(window_, resized()) != window_) FOREBAY_RETURN_IF_ERROR(compute_pixels(memory));
  crop_ = window_;
  // Mirroring before a resize and after it differ in the last bit, so the user's order is
  // preserved.
  flip_before_resize_ = std::exchange(flip_after_resize_, false);
  resize_ = Resize{height, width, interpolation};
  window_ = resized();
  geometry_step_ = step_;
  return {};
}

Status LazyImage::normalize(std::span<const float> scale, std::span<const float> bias, WorkMemory& memory) {
  // Pixels of 16 bits are computed at once: kernels and tables are for 256 values.
  if (dtype_ == DType::kUint16) {
    FOREBAY_RETURN_IF_ERROR(compute_pixels(memory));
    FOREBAY_ASSIGN(Tensor made, normalize_wide(*source_.pixels(), scale, bias, memory));
    reset_to(PixelSource(TensorPixels{std::move(made), false}));
    return {};
  }
  FOREBAY_RETURN_IF_ERROR(require_eight_bits("normalize", memory));
  // One per channel; of_pixels() bounds the number of channels.
  std::copy(scale.begin(), scale.end(), pointwise_.scale.begin());
  std::copy(bias.begin(), bias.end(), pointwise_.bias.begin());
  normalized_ = true;
  value_step_ = step_;
  dtype_ = DType::kFloat32;
  return {};
}

void LazyImage::set_layout(bool channels_first) {
  channels_first_ = channels_first;
  channel_axis_ = true;
  if (!normalized_) value_step_ = step_;
}

Status LazyImage::cast(DType dtype, WorkMemory& memory) {
  // The description holds one conversion. A second one depends on how the first changed the values.
  const DType made = normalized_ ? DType::kFloat32 : source_.dtype();
  if (dtype != dtype_ && dtype_ != made) FOREBAY_RETURN_IF_ERROR(compute_pixels(memory));
  if (!normalized_) value_step_ = step_;
  dtype_ = dtype;
  return {};
}

Status LazyImage::forget_changes() {
  reset_to(PixelSource(UnreadPixels{height(), width(), channels(), dtype_}));
  return {};
}

Status LazyImage::compute_pixels(WorkMemory& memory) {
  if (source_.unread()) return forget_changes();
  Value value = Value::of(std::unique_ptr<Deferred>(new LazyImage(*this)));
  FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  reset_to(PixelSource(TensorPixels{std::move(value.tensor), channels_first_}));
  return {};
}

Result<const Tensor*> LazyImage::pixels(WorkMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(compute_pixels(memory));
  if (source_.unread()) return no_pixels();
  return &source_.pixels()->tensor;
}

Result<Tensor*> LazyImage::edit(WorkMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(require_eight_bits("this operator", memory));
  const bool channels_first = std::exchange(channels_first_, false);
  const Status computed = compute_pixels(memory);
  // Restored after a failure as well: OutOfBudget leaves the description unchanged.
  channels_first_ = channels_first;
  FOREBAY_RETURN_IF_ERROR(computed);
  if (source_.unread()) return no_pixels();
  return &source_.edit_pixels()->tensor;
}

LazyImage::Work LazyImage::work() const {
  const Rect inside = intersection(window_, resized());
  const Interpolation interpolation = resize_ ? resize_->interpolation : Interpolation::kNearest;
  Work work;
  work.blank = inside.width <= 0 || inside.height <= 0;
  if (work.blank) return work;
  ResampleSpec& spec = work.resample;
  spec.horizontal = {crop_.width,   resized().width,     inside.x,          inside.width,
                     interpolation, flip_before_resize_, flip_after_resize_};
  // Pictures are mirrored left to right only.
  spec.vertical = {crop_.height, resized().height, inside.y, inside.height, interpolation, false, false};
  spec.channels = channels();
  const int64_t left = inside.x - window_.x;
  spec.left = flip_after_resize_ ? window_.width - left - inside.width : left;
  spec.top = inside.y - window_.y;
  spec.width = window_.width;
  const AxisRange columns = input_range(spec.horizontal), rows = input_range(spec.vertical);
  work.part = {crop_.x + columns.first, crop_.y + rows.first, columns.count, rows.count};
  const bool packed = dtype_ == DType::kUint8 && !normalized_ && (!channels_first_ || channels() == 1);
  // flip_before_resize_ needs no check: it is never set without a resize.
  work.copies = packed && !resize_ && !flip_after_resize_ && inside == window_;
  return work;
}

uint64_t LazyImage::bytes_of(const Work& work) const {
  if (source_.dtype() != DType::kUint8) {
    const auto elements = static_cast<uint64_t>(shape().elements());
    return static_cast<uint64_t>(width() + height()) * sizeof(int64_t) +
           (dtype_ == source_.dtype() ? 0 : elements * dtype_size(source_.dtype()));
  }
  if (work.blank) return blank_row_bytes();
  return source_.working_bytes(work.part) + (work.copies ? 0 : work.resample.working_bytes());
}

uint64_t LazyImage::blank_row_bytes() const {
  return static_cast<uint64_t>(width() * pixel_pitch(channels()) + kRowSlack);
}

uint64_t LazyImage::working_bytes() const { return bytes_of(work()); }

Status LazyImage::write(std::span<uint8_t> out, WorkMemory& memory) {
  const Work work = this->work();
  const uint64_t bytes = bytes_of(work);
  FOREBAY_RETURN_IF_ERROR(memory.reserve(bytes));
  Status status;
  if (source_.dtype() == DType::kUint8) {
    const StepSpan span(memory.meter(), decode_step_);
    status = write_pixels(work, out, memory);
  } else {
    const StepSpan span(memory.meter(), geometry_step_);
    write_elements(work, out, memory);
  }
  // Only scratch memory was used; the output belongs to the batch, which has reserved it.
  memory.release(bytes);
  return status;
}

PixelFormat LazyImage::format() const {
  return {width(), height(), channels(), channels_first_, dtype_, normalized_, pointwise_};
}

void LazyImage::write_blank(std::span<uint8_t> out, WorkMemory& memory) const {
  const std::span<uint8_t> row = memory.scratch(kResamplerSlot, blank_row_bytes());
  std::fill(row.begin(), row.end(), uint8_t{0});
  const PixelFormat pixel_format = format();
  RowWriter writer(pixel_format, image_kernels(simd_level()), out);
  for (int64_t y = 0; y < height(); ++y) writer.write(y, row.data());
}

Status LazyImage::write_pixels(const Work& work, std::span<uint8_t> out, WorkMemory& memory) const {
  if (work.blank) {
    write_blank(out, memory);
    return {};
  }
  if (work.copies) {
    RowsInto copy(out.data(), static_cast<size_t>(width() * channels()));
    return source_.read(work.part, copy, memory, kSourceSlot);
  }
  const PixelFormat pixel_format = format();
  const ImageKernels& kernels = image_kernels(simd_level());
  RowWriter writer(pixel_format, kernels, out);
  if (memory.meter().is_measuring()) writer.book(memory.meter(), value_step_);
  Resampler resampler(work.resample, kernels, writer, memory, kResamplerSlot);
  BookedRows booked(resampler, memory.meter(), geometry_step_);
  RowSink& sink = memory.meter().is_measuring() ? static_cast<RowSink&>(booked) : resampler;
  FOREBAY_RETURN_IF_ERROR(source_.read(work.part, sink, memory, kSourceSlot));
  for (int64_t y = 0; y < height(); ++y) {
    // The resampler wrote its rows already; these lie outside the picture.
    const bool made = y >= work.resample.top && y < work.resample.top + work.resample.vertical.count;
    if (!made) writer.write(y, resampler.blank_row());
  }
  return {};
}

void LazyImage::write_elements(const Work& work, std::span<uint8_t> out, WorkMemory& memory) const {
  const std::span<uint8_t> scratch =
      memory.scratch(kResamplerSlot, static_cast<size_t>(width() + height()) * sizeof(int64_t));
  const std::span<int64_t> indices(reinterpret_cast<int64_t*>(scratch.data()), static_cast<size_t>(width() + height()));
  const std::span<int64_t> columns = indices.first(width()), rows = indices.subspan(width());
  if (work.blank) {
    std::fill(indices.begin(), indices.end(), int64_t{-1});  // zeros
  } else {
    fill_indices(work.resample.horizontal, crop_.x, work.resample.left, columns);
    fill_indices(work.resample.vertical, crop_.y, work.resample.top, rows);
  }
  const TensorPixels& pixels = *source_.pixels();
  const DType from = source_.dtype();
  // Elements that keep their type need no intermediate copy.
  if (dtype_ == from) return gather_elements(pixels, rows, columns, channels_first_, out.data());
  const int64_t elements = shape().elements();
  const std::span<uint8_t> made = memory.scratch(kSourceSlot, static_cast<size_t>(elements) * dtype_size(from));
  gather_elements(pixels, rows, columns, channels_first_, made.data());
  cast_elements(from, made.data(), dtype_, out.data(), elements);
}

}  // namespace forebay
