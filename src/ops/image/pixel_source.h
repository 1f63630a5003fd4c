#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "base/work_memory.h"
#include "codec/image.h"
#include "forebay/tensor.h"

namespace forebay {

/// A picture as stored: encoded bytes whose header was read.
struct EncodedPixels {
  Buffer bytes;
  ImageInfo info;
  ColorMode mode = ColorMode::kRgb;
};

/// A picture as a tensor: height × width × channels, or channels first, or without an axis for the channels.
struct TensorPixels {
  Tensor tensor;
  bool channels_first = false;

  int64_t height() const { return tensor.shape[planar() ? 1 : 0]; }
  int64_t width() const { return tensor.shape[planar() ? 2 : 1]; }
  int64_t channels() const { return tensor.shape.rank() == 2 ? 1 : tensor.shape[planar() ? 0 : 2]; }
  /// Distances in elements.
  int64_t step_x() const { return planar() ? 1 : channels(); }
  int64_t step_y() const { return planar() ? width() : width() * channels(); }
  int64_t step_channel() const { return planar() ? width() * height() : 1; }

 private:
  bool planar() const { return channels_first && tensor.shape.rank() == 3; }
};

/// Where the pixels of a picture come from, upright.
/// read() changes nothing in it. Corrupt where encoded bytes are damaged, OutOfBudget where `memory` does not reach.
class PixelSource {
 public:
  explicit PixelSource(EncodedPixels encoded) : from_(std::move(encoded)) {}
  explicit PixelSource(TensorPixels pixels) : from_(std::move(pixels)) {}

  int64_t width() const;
  int64_t height() const;
  int64_t channels() const;
  DType dtype() const;
  /// The tensor, or null.
  const TensorPixels* pixels() const { return std::get_if<TensorPixels>(&from_); }
  TensorPixels* edit_pixels() { return std::get_if<TensorPixels>(&from_); }

  /// Numbers of classes, say: between two of them there is none.
  bool indices() const {
    const auto* const encoded = std::get_if<EncodedPixels>(&from_);
    return encoded != nullptr && encoded->mode == ColorMode::kPalette;
  }

  /// What read() takes for this part, the decoder's own memory included.
  uint64_t working_bytes(const Rect& part) const;
  /// Gives the rows of `part`, top to bottom, 8 bits a channel. Uses scratch `slot` and the one behind it.
  Status read(const Rect& part, RowSink& sink, WorkMemory& memory, int slot) const;

 private:
  std::variant<EncodedPixels, TensorPixels> from_;
};

}  // namespace forebay
