#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "base/work_memory.h"
#include "codec/image.h"
#include "forebay/tensor.h"

namespace forebay {

/// An encoded picture whose header has been read.
struct EncodedPixels {
  Buffer bytes;
  ImageInfo info;
  ColorMode mode = ColorMode::kRgb;
};

/// A picture as a tensor: height × width × channels, channels × height × width, or height × width.
struct TensorPixels {
  Tensor tensor;
  bool channels_first = false;

  int64_t height() const { return tensor.shape[planar() ? 1 : 0]; }
  int64_t width() const { return tensor.shape[planar() ? 2 : 1]; }
  int64_t channels() const { return tensor.shape.rank() == 2 ? 1 : tensor.shape[planar() ? 0 : 2]; }
  /// Distances between neighbours, in elements.
  int64_t step_x() const { return planar() ? 1 : channels(); }
  int64_t step_y() const { return planar() ? width() : width() * channels(); }
  int64_t step_channel() const { return planar() ? width() * height() : 1; }

 private:
  bool planar() const { return channels_first && tensor.shape.rank() == 3; }
};

/// A picture of which only the size is known. Its pixels cannot be read.
struct UnreadPixels {
  int64_t height = 0, width = 0, channels = 0;
  DType dtype = DType::kUint8;
};

/// The error of work that needs such pixels.
inline Status no_pixels() { return internal_error("pixels are needed of a picture of which only the size was read"); }

/// The pixels that a LazyImage starts from, upright. read() does not change the source. It returns
/// Corrupt if the encoded bytes are damaged and OutOfBudget if `memory` is too small.
class PixelSource {
 public:
  explicit PixelSource(EncodedPixels encoded) : from_(std::move(encoded)) {}
  explicit PixelSource(TensorPixels pixels) : from_(std::move(pixels)) {}
  explicit PixelSource(UnreadPixels unread) : from_(unread) {}

  int64_t width() const;
  int64_t height() const;
  int64_t channels() const;
  DType dtype() const;
  bool unread() const { return std::holds_alternative<UnreadPixels>(from_); }
  /// The tensor, or null if there is none.
  const TensorPixels* pixels() const { return std::get_if<TensorPixels>(&from_); }
  TensorPixels* edit_pixels() { return std::get_if<TensorPixels>(&from_); }

  /// True if the pixels are palette indices, such as class numbers. Such pixels cannot be
  /// interpolated.
  bool indices() const {
    const auto* const encoded = std::get_if<EncodedPixels>(&from_);
    return encoded != nullptr && encoded->mode == ColorMode::kPalette;
  }

  /// Bytes that read() needs for this part, including the decoder's own memory.
  uint64_t working_bytes(const Rect& part) const;
  /// Passes the rows of `part` to `sink`, top to bottom, with 8 bits per channel. Uses scratch
  /// `slot` and the next one.
  Status read(const Rect& part, RowSink& sink, WorkMemory& memory, int slot) const;

 private:
  std::variant<EncodedPixels, TensorPixels, UnreadPixels> from_;
};

}  // namespace forebay
