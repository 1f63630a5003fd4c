#include "ops/image/row_writer.h"

#include <cstring>

#include "ops/image/cast_elements.h"

namespace forebay {

RowWriter::RowWriter(const PixelFormat& format, const ImageKernels& kernels, std::span<uint8_t> out)
    : format_(format), kernels_(kernels), out_(out.data()),
      planar_float_(format.channels_first && format.channels == 3 && format.dtype == DType::kFloat32),
      packed_bytes_((!format.channels_first || format.channels == 1) && !format.scaled &&
                    format.dtype == DType::kUint8) {
  // Each of the 256 values of a byte is converted once; pixels then look up the result.
  if (!planar_float_ && !packed_bytes_) fill_table();
}

void RowWriter::fill_table() {
  std::array<uint8_t, 256> bytes;
  for (int i = 0; i < 256; ++i) bytes[i] = static_cast<uint8_t>(i);
  for (int64_t c = 0; c < format_.channels; ++c) {
    uint8_t* const table = table_.data() + c * 256 * static_cast<int64_t>(dtype_size(format_.dtype));
    if (!format_.scaled) {
      cast_elements(DType::kUint8, bytes.data(), format_.dtype, table, 256);
      continue;
    }
    std::array<float, 256> scaled;
    for (int i = 0; i < 256; ++i) {
      // Multiplication and addition round separately, as in the vector kernels. A fused operation
      // rounds once and may give another last bit.
      scaled[i] = static_cast<float>(i) * format_.pointwise.scale[c] + format_.pointwise.bias[c];
    }
    cast_elements(DType::kFloat32, reinterpret_cast<const uint8_t*>(scaled.data()), format_.dtype, table, 256);
  }
}

template <typename T>
void RowWriter::write_by_table(int64_t y, const uint8_t* pixels) {
  const int64_t channels = format_.channels, pitch = pixel_pitch(channels);
  const int64_t step = format_.channels_first ? 1 : channels;
  const int64_t plane = format_.channels_first ? format_.width * format_.height : 1;
  for (int64_t c = 0; c < channels; ++c) {
    const T* const table = reinterpret_cast<const T*>(table_.data()) + c * 256;
    T* const out = reinterpret_cast<T*>(out_) + y * format_.width * step + c * plane;
    for (int64_t x = 0; x < format_.width; ++x) out[x * step] = table[pixels[x * pitch + c]];
  }
}

void RowWriter::write(int64_t y, const uint8_t* pixels) {
  if (meter_ == nullptr) return put(y, pixels);
  const StepSpan span(*meter_, step_);
  put(y, pixels);
}

void RowWriter::put(int64_t y, const uint8_t* pixels) {
  const int64_t width = format_.width;
  if (planar_float_) {
    // x * 1 + 0 equals x exactly, so plain conversions use the same kernel.
    static constexpr float kOnes[3] = {1, 1, 1}, kZeros[3] = {};
    float* const row = reinterpret_cast<float*>(out_) + y * width;
    float* const planes[3] = {row, row + width * format_.height, row + 2 * width * format_.height};
    return kernels_.planar_float(pixels, width, format_.scaled ? format_.pointwise.scale.data() : kOnes,
                                 format_.scaled ? format_.pointwise.bias.data() : kZeros, planes);
  }
  if (packed_bytes_) {
    uint8_t* const row = out_ + y * width * format_.channels;
    if (format_.channels == 3) return kernels_.packed_rgb(pixels, width, row);
    std::memcpy(row, pixels, static_cast<size_t>(width * format_.channels));
    return;
  }
  switch (dtype_size(format_.dtype)) {
    // Only the size matters, because finished values are moved, not computed with.
    case 1: return write_by_table<uint8_t>(y, pixels);
    case 2: return write_by_table<uint16_t>(y, pixels);
    case 4: return write_by_table<uint32_t>(y, pixels);
    default: return write_by_table<uint64_t>(y, pixels);
  }
}

}  // namespace forebay
