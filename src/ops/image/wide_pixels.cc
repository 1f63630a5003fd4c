#include "ops/image/wide_pixels.h"

#include <algorithm>
#include <type_traits>

#include "codec/orientation.h"
#include "ops/image/axis.h"

namespace forebay {

namespace {

constexpr int kTableSlot = 0, kRowsSlot = 1;

Result<Tensor> allocate_picture(DType dtype, const Shape& shape, WorkMemory& memory) {
  FOREBAY_RETURN_IF_ERROR(memory.reserve(static_cast<uint64_t>(shape.elements()) * dtype_size(dtype)));
  return Tensor::allocate(dtype, shape);
}

const uint16_t* values(const Tensor& tensor) { return reinterpret_cast<const uint16_t*>(tensor.buffer.data()); }

uint16_t weighted_mean(int64_t sum) {
  return static_cast<uint16_t>(std::clamp<int64_t>((sum + kWeightOne / 2) >> kWeightBits, 0, UINT16_MAX));
}
float weighted_mean(double sum) { return static_cast<float>(sum / kWeightOne); }

/// `step` is the distance between the samples of one sum.
template <typename T>
T weighted(const Axis& axis, int64_t i, const T* from, int64_t step) {
  // 16 bits of a pixel and 22 of a weight do not fit the 32 bits of the other kernels.
  using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  const int32_t* const weights = &axis.weights[static_cast<size_t>(i * axis.taps)];
  from += axis.start[static_cast<size_t>(i)] * step;
  Sum sum = 0;
  for (int64_t t = 0; t < axis.taps; ++t) sum += static_cast<Sum>(weights[t]) * from[t * step];
  return weighted_mean(sum);
}

AxisSpec whole(int64_t in, int64_t out) { return {in, out, 0, out, Interpolation::kBilinear, false, false}; }

template <typename T>
Result<Tensor> resize_elements(const TensorPixels& from, int64_t height, int64_t width, WorkMemory& memory) {
  const int64_t channels = from.channels(), in_height = from.height();
  const AxisSpec across = whole(from.width(), width), down = whole(in_height, height);
  FOREBAY_ASSIGN(Tensor made, allocate_picture(from.tensor.dtype, {height, width, channels}, memory));
  const auto rows = static_cast<uint64_t>(in_height * width * channels) * sizeof(T);
  const uint64_t first = (Axis::bytes(across) + 7) / 8 * 8;  // both tables begin with doubles
  const uint64_t tables_bytes = first + Axis::bytes(down);
  const uint64_t working = tables_bytes + rows;
  FOREBAY_RETURN_IF_ERROR(memory.reserve(working));
  const std::span<uint8_t> tables = memory.scratch(kTableSlot, tables_bytes);
  const Axis columns = Axis::build(across, tables.first(Axis::bytes(across)));
  const Axis lines = Axis::build(down, tables.subspan(first));
  auto* const narrowed = reinterpret_cast<T*>(memory.scratch(kRowsSlot, rows).data());
  const auto* const pixels = reinterpret_cast<const T*>(from.tensor.buffer.data());
  // The horizontal pass is always first: the order decides last bits and must be the same
  // everywhere.
  for (int64_t y = 0; y < in_height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c)
        narrowed[(y * width + x) * channels + c] =
            weighted(columns, x, pixels + y * from.step_y() + c * from.step_channel(), from.step_x());
    }
  }
  T* out = made.data<T>();
  const int64_t line = width * channels;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t i = 0; i < line; ++i) *out++ = weighted(lines, y, narrowed + i, line);
  }
  memory.release(working);
  return made;
}

}  // namespace

Result<Tensor> decode_wide(const EncodedPixels& from, WorkMemory& memory) {
  const ImageInfo& info = from.info;
  const Rect all = {0, 0, info.stored_width, info.stored_height};
  const bool turned = info.orientation != 1;
  const auto bytes = static_cast<uint64_t>(info.pixels() * pixel_bytes(from.mode));
  FOREBAY_ASSIGN(Tensor made,
                 allocate_picture(DType::kUint16, {info.height(), info.width(), channels(from.mode)}, memory));
  const uint64_t working = decode_working_bytes(info, all, from.mode) + (turned ? bytes : 0);
  FOREBAY_RETURN_IF_ERROR(memory.reserve(working));
  uint8_t* const pixels = made.buffer.data();
  // A picture that is stored upright is decoded directly into the result.
  uint8_t* const stored = turned ? memory.scratch(kRowsSlot, bytes).data() : pixels;
  RowsInto rows(stored, static_cast<size_t>(info.stored_width * pixel_bytes(from.mode)));
  FOREBAY_RETURN_IF_ERROR(decode_rows(from.bytes.span(), info, all, from.mode, rows));
  if (turned)
    orient_pixels(stored, info.stored_width, info.stored_height, pixel_bytes(from.mode), info.orientation, pixels);
  memory.release(working);
  return made;
}

Result<Tensor> resize_wide(const TensorPixels& from, int64_t height, int64_t width, WorkMemory& memory) {
  return from.tensor.dtype == DType::kFloat32 ? resize_elements<float>(from, height, width, memory)
                                              : resize_elements<uint16_t>(from, height, width, memory);
}

Result<Tensor> normalize_wide(const TensorPixels& from, std::span<const float> scale, std::span<const float> bias,
                              WorkMemory& memory) {
  const int64_t channels = from.channels();
  FOREBAY_ASSIGN(Tensor made, allocate_picture(DType::kFloat32, {from.height(), from.width(), channels}, memory));
  const uint16_t* const pixels = values(from.tensor);
  float* out = made.data<float>();
  for (int64_t y = 0; y < from.height(); ++y) {
    for (int64_t x = 0; x < from.width(); ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const float value = pixels[y * from.step_y() + x * from.step_x() + c * from.step_channel()];
        *out++ = value * scale[static_cast<size_t>(c)] + bias[static_cast<size_t>(c)];
      }
    }
  }
  return made;
}

}  // namespace forebay
